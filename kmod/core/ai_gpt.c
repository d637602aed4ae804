// SPDX-License-Identifier: GPL-2.0-only
/*
 * The global page table: which region is behind a logical address.
 *
 * One maple tree over all logical addresses. Lookups use RCU, the rest one mutex,
 * so that a lookup costs the depth of the tree however many regions there are.
 *
 * A reservation has a window of addresses of its own. In the tree a marker keeps it
 * from everybody else; what is allocated in it replaces a part of the marker, and a
 * small tree a window says what is free.
 */
#include <linux/mm.h>

#include "ai_internal.h"

static DEFINE_MUTEX(gpt_lock);
static struct maple_tree gpt;
/* Where the next search starts, a device: an address comes back late, not at once. */
static u64 gpt_next_page[AI_MAX_DEVICES];

#define AI_GPT_FIRST_PAGE 1ULL /* 0 is never a logical address */

#define AI_GPT_RESERVED xa_mk_value(0) /* nobody's yet, in somebody's window */

void ai_gpt_init(void)
{
	mt_init_flags(&gpt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&gpt, &gpt_lock);
}

void ai_gpt_exit(void)
{
	mutex_lock(&gpt_lock);
	WARN_ON(!mtree_empty(&gpt));
	__mt_destroy(&gpt);
	mutex_unlock(&gpt_lock);
	/* Regions and nodes of the tree are freed by RCU callbacks in this module. */
	rcu_barrier();
}

/*
 * Large regions begin at a multiple of 2 MiB, so that devices and the CPU can
 * map them with large pages.
 */
static int ai_gpt_find(struct ma_state *mas, u64 base, u64 from, u64 end, u64 pages)
{
	u64 align = pages >= HPAGE_PMD_NR ? HPAGE_PMD_NR : 1;
	u64 first;
	int ret;

	mas_reset(mas);
	ret = mas_empty_area(mas, base + from, base + end - 1, pages + align - 1);
	if (ret)
		return ret;
	first = ALIGN(mas->index, align);
	mas_set_range(mas, first, first + pages - 1);
	return 0;
}

/**
 * ai_gpt_insert() - give a region its logical address
 * @region: the region; &ai_region.nr_pages is set, &ai_region.la will be
 * @device: number of the home device
 *
 * Return: 0, -ENOSPC when the device's space has no such gap, -ENOMEM.
 */
int ai_gpt_insert(struct ai_region *region, u32 device)
{
	u64 base = (u64)device << AI_LA_PAGE_BITS;
	const u64 half = AI_GPT_MAX_PAGES / 2;
	u64 *next = &gpt_next_page[device];
	int ret;

	MA_STATE(mas, &gpt, 0, 0);

	mutex_lock(&gpt_lock);
	ret = ai_gpt_find(&mas, base, max(*next, AI_GPT_FIRST_PAGE), half, region->nr_pages);
	if (ret == -EBUSY || ret == -EINVAL)
		ret = ai_gpt_find(&mas, base, AI_GPT_FIRST_PAGE, half, region->nr_pages);
	/* The upper half is for windows as long as there is room elsewhere. */
	if (ret == -EBUSY || ret == -EINVAL)
		ret = ai_gpt_find(&mas, base, AI_GPT_FIRST_PAGE, AI_GPT_MAX_PAGES,
				  region->nr_pages);
	if (ret) {
		ret = -ENOSPC;
		goto unlock;
	}
	region->la = mas.index;
	ret = mas_store_gfp(&mas, region, GFP_KERNEL_ACCOUNT);
	if (!ret)
		*next = (AI_LA_PAGE(region->la) + region->nr_pages) % half;
unlock:
	mutex_unlock(&gpt_lock);
	return ret;
}

/* What must succeed, because something goes: the tree may need memory to rebalance. */
static void ai_gpt_store(struct maple_tree *tree, u64 first, u64 last, void *entry)
{
	MA_STATE(mas, tree, first, last);

	while (mas_store_gfp(&mas, entry, GFP_KERNEL | __GFP_NOFAIL)) {
		cond_resched();
		mas_set_range(&mas, first, last);
	}
}

/* The markers before and behind what goes become one with it. */
static void ai_gpt_restore_window(struct ai_gpt_window *window, u64 first, u64 last)
{
	u64 end = window->la + window->pages - 1;

	MA_STATE(mas, &gpt, first, first);

	if (first > window->la && mas_prev(&mas, window->la) == AI_GPT_RESERVED &&
	    mas.last == first - 1)
		first = mas.index;
	mas_set(&mas, last);
	if (last < end && mas_next(&mas, end) == AI_GPT_RESERVED && mas.index == last + 1)
		last = mas.last;
	ai_gpt_store(&gpt, first, last, AI_GPT_RESERVED);
}

/* Addresses that a region takes up in a window: all gaps between large ones are aligned. */
static u64 ai_gpt_window_pages(const struct ai_region *region)
{
	return region->nr_pages < HPAGE_PMD_NR ? region->nr_pages :
						 ALIGN(region->nr_pages, HPAGE_PMD_NR);
}

void ai_gpt_remove(struct ai_region *region)
{
	struct ai_gpt_window *window = region->reserve ? &region->reserve->window : NULL;
	u64 last = region->la + region->nr_pages - 1;
	u64 at;

	mutex_lock(&gpt_lock);
	if (window) {
		ai_gpt_restore_window(window, region->la, last);
		at = region->la - window->la;
		ai_gpt_store(&window->used, at, at + ai_gpt_window_pages(region) - 1, NULL);
	} else {
		ai_gpt_store(&gpt, region->la, last, NULL);
	}
	mutex_unlock(&gpt_lock);
}

/* ---- windows ---- */

/*
 * Addresses with which an allocation that is within the reservation cannot fail,
 * however it was cut up before: first fit needs no more than M * log2(n) for pieces
 * of up to n with M in use (J. M. Robson, "Worst case fragmentation of first fit and
 * best fit storage allocation strategies", The Computer Journal 20(3), 1977); a
 * margin of two is added to the logarithm. Pieces that are to be aligned have a part
 * of the window to themselves, are rounded up to that unit, and so at most doubled.
 */
static u64 ai_gpt_small_pages(u64 pages)
{
	return ALIGN(pages * (ilog2(HPAGE_PMD_NR) + 2), HPAGE_PMD_NR);
}

static u64 ai_gpt_large_pages(u64 pages)
{
	u64 units = 2 * pages / HPAGE_PMD_NR;

	return units ? units * (ilog2(units) + 3) * HPAGE_PMD_NR : 0;
}

/**
 * ai_gpt_window_create() - reserve addresses
 * @window: where to note them
 * @device: number of the home device
 * @pages: pages that will be allocated in it at once, at most
 *
 * Return: 0, -ENOSPC when the device's space has no such gap, -ENOMEM.
 */
int ai_gpt_window_create(struct ai_gpt_window *window, u32 device, u64 pages)
{
	u64 base = (u64)device << AI_LA_PAGE_BITS;
	int ret;

	MA_STATE(mas, &gpt, 0, 0);

	window->small = ai_gpt_small_pages(pages);
	window->pages = window->small + ai_gpt_large_pages(pages);
	if (window->pages >= AI_GPT_MAX_PAGES / 2)
		return -ENOSPC;
	mt_init_flags(&window->used, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&window->used, &gpt_lock);

	mutex_lock(&gpt_lock);
	/* In the upper half, so that the lower one is left for what is not reserved. */
	ret = mas_empty_area_rev(&mas, base + AI_GPT_MAX_PAGES / 2, base + AI_GPT_MAX_PAGES - 1,
				 window->pages + HPAGE_PMD_NR - 1);
	if (!ret) {
		window->la = ALIGN(mas.index, HPAGE_PMD_NR);
		mas_set_range(&mas, window->la, window->la + window->pages - 1);
		ret = mas_store_gfp(&mas, AI_GPT_RESERVED, GFP_KERNEL_ACCOUNT);
	} else {
		ret = -ENOSPC;
	}
	mutex_unlock(&gpt_lock);
	return ret;
}

/* Nothing is in it any more. */
void ai_gpt_window_destroy(struct ai_gpt_window *window)
{
	mutex_lock(&gpt_lock);
	ai_gpt_store(&gpt, window->la, window->la + window->pages - 1, NULL);
	WARN_ON(!mtree_empty(&window->used));
	__mt_destroy(&window->used);
	mutex_unlock(&gpt_lock);
}

/**
 * ai_gpt_window_insert() - give a region of a reservation its logical address
 * @region: the region; &ai_region.nr_pages and &ai_region.reserve are set
 *
 * Return: 0, -ENOSPC which cannot be as long as the reservation is kept to, -ENOMEM.
 */
int ai_gpt_window_insert(struct ai_region *region)
{
	struct ai_gpt_window *window = &region->reserve->window;
	bool large = region->nr_pages >= HPAGE_PMD_NR;
	u64 pages = ai_gpt_window_pages(region);
	int ret;

	MA_STATE(used, &window->used, 0, 0);
	MA_STATE(mas, &gpt, 0, 0);

	mutex_lock(&gpt_lock);
	ret = mas_empty_area(&used, large ? window->small : 0,
			     (large ? window->pages : window->small) - 1, pages);
	if (ret) {
		ret = -ENOSPC;
		goto unlock;
	}
	region->la = window->la + used.index;
	mas_set_range(&used, used.index, used.index + pages - 1);
	ret = mas_store_gfp(&used, region, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto unlock;
	mas_set_range(&mas, region->la, region->la + region->nr_pages - 1);
	ret = mas_store_gfp(&mas, region, GFP_KERNEL_ACCOUNT);
	if (ret)
		ai_gpt_store(&window->used, region->la - window->la,
			     region->la - window->la + pages - 1, NULL);
unlock:
	mutex_unlock(&gpt_lock);
	return ret;
}

/**
 * ai_gpt_lookup() - the region behind a logical address
 * @la: address of any of its pages
 *
 * Return: the region with a reference, or NULL.
 */
struct ai_region *ai_gpt_lookup(u64 la)
{
	struct ai_region *region;

	rcu_read_lock();
	region = mtree_load(&gpt, la);
	if (xa_is_value(region))
		region = NULL;
	if (region && !kref_get_unless_zero(&region->ref))
		region = NULL;
	rcu_read_unlock();
	return region;
}

/**
 * ai_gpt_next() - walk all regions
 * @la: where to begin; moved behind the region found
 *
 * Under the writers' lock: in 6.12 a walk under RCU that has to begin again takes
 * it that the tree has a node, and the last region may just have gone.
 *
 * Return: the region with a reference, or NULL at the end.
 */
struct ai_region *ai_gpt_next(u64 *la)
{
	struct ai_region *region;

	MA_STATE(mas, &gpt, *la, *la);

	mutex_lock(&gpt_lock);
	do {
		region = mas_find(&mas, ULONG_MAX);
	} while (xa_is_value(region) || (region && !kref_get_unless_zero(&region->ref)));
	if (region)
		*la = mas.last + 1;
	mutex_unlock(&gpt_lock);
	return region;
}
