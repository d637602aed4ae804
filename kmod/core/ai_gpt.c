// SPDX-License-Identifier: GPL-2.0-only
/*
 * The global page table: which region is behind a logical address.
 *
 * One maple tree over all logical addresses. Lookups use RCU, the rest one mutex,
 * so that a lookup costs the depth of the tree however many regions there are.
 */
#include <linux/mm.h>
#include <linux/maple_tree.h>

#include "ai_internal.h"

static DEFINE_MUTEX(gpt_lock);
static struct maple_tree gpt;
/* Where the next search starts, a device: an address comes back late, not at once. */
static u64 gpt_next_page[AI_MAX_DEVICES];

#define AI_GPT_FIRST_PAGE 1ULL /* 0 is never a logical address */

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
static int ai_gpt_find(struct ma_state *mas, u64 base, u64 from, u64 pages)
{
	u64 align = pages >= HPAGE_PMD_NR ? HPAGE_PMD_NR : 1;
	u64 first;
	int ret;

	mas_reset(mas);
	ret = mas_empty_area(mas, base + from, base + AI_GPT_MAX_PAGES - 1, pages + align - 1);
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
	u64 *next = &gpt_next_page[device];
	int ret;

	MA_STATE(mas, &gpt, 0, 0);

	mutex_lock(&gpt_lock);
	ret = ai_gpt_find(&mas, base, max(*next, AI_GPT_FIRST_PAGE), region->nr_pages);
	if (ret == -EBUSY || ret == -EINVAL)
		ret = ai_gpt_find(&mas, base, AI_GPT_FIRST_PAGE, region->nr_pages);
	if (ret) {
		ret = -ENOSPC;
		goto unlock;
	}
	region->la = mas.index;
	ret = mas_store_gfp(&mas, region, GFP_KERNEL_ACCOUNT);
	if (!ret)
		*next = AI_LA_PAGE(region->la) + region->nr_pages;
unlock:
	mutex_unlock(&gpt_lock);
	return ret;
}

/* Must succeed, since the region goes: the tree may need memory to rebalance. */
void ai_gpt_remove(struct ai_region *region)
{
	MA_STATE(mas, &gpt, region->la, region->la + region->nr_pages - 1);

	mutex_lock(&gpt_lock);
	while (mas_store_gfp(&mas, NULL, GFP_KERNEL | __GFP_NOFAIL)) {
		cond_resched();
		mas_set_range(&mas, region->la, region->la + region->nr_pages - 1);
	}
	mutex_unlock(&gpt_lock);
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
	} while (region && !kref_get_unless_zero(&region->ref));
	if (region)
		*la = mas.last + 1;
	mutex_unlock(&gpt_lock);
	return region;
}
