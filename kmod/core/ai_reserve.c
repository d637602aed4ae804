// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a contract was promised.
 *
 * Memory of a device is counted: nobody else is given what would make the free
 * memory less than what is promised and not used yet. Any pages do, since a region
 * may be made of single ones. System memory is allocated when it is promised and
 * handed out from there, because there is no telling who else takes what is free.
 *
 * When the contract lets go, what is unused is free at once; what is used stays
 * with its regions and is free when they go.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ai_internal.h"

static int ai_reserve_promise(struct ai_reserve *reserve, u64 *available)
{
	struct ai_device *home = reserve->home;
	int ret = 0;

	mutex_lock(&home->mem_lock);
	*available = home->buddy.avail - home->mem_promised;
	if (reserve->bytes > *available)
		ret = -EDQUOT;
	else
		home->mem_promised += reserve->bytes;
	mutex_unlock(&home->mem_lock);
	return ret;
}

static void ai_reserve_free_backing(struct ai_reserve *reserve)
{
	if (!reserve->backing)
		return;
	ai_region_free_pages(reserve->backing);
	if (reserve->backing->chunks != &reserve->backing->one)
		kvfree(reserve->backing->chunks);
	kfree(reserve->backing);
}

static int ai_reserve_alloc_backing(struct ai_reserve *reserve, u64 *available)
{
	struct ai_region *backing = kzalloc(sizeof(*backing), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!backing)
		return -ENOMEM;
	reserve->backing = backing;
	backing->nr_pages = reserve->bytes >> PAGE_SHIFT;
	backing->chunks = &backing->one;
	*available = (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
	if (reserve->bytes > *available)
		return -EDQUOT;
	ret = ai_region_alloc_pages(backing);
	if (ret)
		return ret == -ENOMEM ? -EDQUOT : ret;
	return gpu_buddy_init(&reserve->buddy, reserve->bytes, PAGE_SIZE);
}

/**
 * ai_reserve_create() - promise memory
 * @home: device, NULL: system memory
 * @bytes: how much, whole pages
 * @available: how much could be promised, if that is why it fails
 * @term: &enum ai_term that is short
 *
 * Return: the reservation with one reference, or -EDQUOT, -ENOMEM, -EINTR.
 */
struct ai_reserve *ai_reserve_create(struct ai_device *home, u64 bytes, u64 *available, u32 *term)
{
	struct ai_reserve *reserve = kzalloc(sizeof(*reserve), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!reserve)
		return ERR_PTR(-ENOMEM);
	kref_init(&reserve->ref);
	mutex_init(&reserve->lock);
	reserve->bytes = bytes;

	*term = AI_TERM_ADDRESSES;
	*available = 0;
	ret = ai_gpt_window_create(&reserve->window, home ? home->id : AI_DEVICE_SYSTEM,
				   bytes >> PAGE_SHIFT);
	if (ret) {
		ret = ret == -ENOSPC ? -EDQUOT : ret;
		goto free;
	}
	*term = AI_TERM_MEMORY;
	if (home) {
		reserve->home = ai_device_get(home);
		ret = ai_reserve_promise(reserve, available);
	} else {
		ret = ai_reserve_alloc_backing(reserve, available);
	}
	if (!ret)
		return reserve;

	if (home)
		ai_device_put(home);
	ai_reserve_free_backing(reserve);
	ai_gpt_window_destroy(&reserve->window);
free:
	mutex_destroy(&reserve->lock);
	kfree(reserve);
	return ERR_PTR(ret);
}

static void ai_reserve_free(struct kref *ref)
{
	struct ai_reserve *reserve = container_of(ref, struct ai_reserve, ref);

	ai_gpt_window_destroy(&reserve->window);
	if (reserve->home) {
		ai_device_put(reserve->home);
	} else {
		gpu_buddy_fini(&reserve->buddy);
		ai_reserve_free_backing(reserve);
	}
	mutex_destroy(&reserve->lock);
	kfree(reserve);
}

/* May sleep. */
void ai_reserve_put(struct ai_reserve *reserve)
{
	kref_put(&reserve->ref, ai_reserve_free);
}

/**
 * ai_reserve_release() - let go of what is not used
 * @reserve: the reservation; nothing is taken from it any more
 */
void ai_reserve_release(struct ai_reserve *reserve)
{
	struct ai_device *home = reserve->home;

	mutex_lock(&reserve->lock);
	if (home) {
		mutex_lock(&home->mem_lock);
		home->mem_promised -= reserve->bytes - reserve->used;
		mutex_unlock(&home->mem_lock);
	}
	reserve->released = true;
	mutex_unlock(&reserve->lock);
	ai_reserve_put(reserve);
}

u64 ai_reserve_used(struct ai_reserve *reserve)
{
	u64 used;

	mutex_lock(&reserve->lock);
	used = reserve->used;
	mutex_unlock(&reserve->lock);
	return used;
}

/* When it was used last; now, if it is. */
s64 ai_reserve_used_at(struct ai_reserve *reserve)
{
	s64 at;

	mutex_lock(&reserve->lock);
	at = reserve->used ? (s64)ktime_get_ns() : reserve->touched;
	mutex_unlock(&reserve->lock);
	return at;
}

/* ---- what regions take ---- */

/* The pages of a block of the backing, which has them in pieces of its own. */
static int ai_reserve_add_pages(struct ai_region *region, u32 *capacity, u64 *done, u64 page,
				u64 nr)
{
	const struct ai_region *backing = region->reserve->backing;
	int ret;

	while (nr) {
		const struct ai_chunk *chunk = ai_region_chunk(backing, page);
		u64 skip = page - chunk->start;
		u64 part = min(nr, chunk->nr - skip);

		ret = ai_region_add_chunk(region, capacity, chunk->pfn + skip, *done, part);
		if (ret)
			return ret;
		*done += part;
		page += part;
		nr -= part;
	}
	return 0;
}

static void ai_reserve_clear_pages(struct ai_region *region)
{
	u32 i, page;

	for (i = 0; i < region->nr_chunks; i++) {
		for (page = 0; page < region->chunks[i].nr; page++)
			clear_highpage(pfn_to_page(region->chunks[i].pfn + page));
		cond_resched();
	}
}

static int ai_reserve_take_pages(struct ai_region *region)
{
	struct ai_reserve *reserve = region->reserve;
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	struct gpu_buddy_block *block;
	u32 capacity = 1;
	u64 done = 0;
	int ret;

	lockdep_assert_held(&reserve->lock);
	ret = gpu_buddy_alloc_blocks(&reserve->buddy, 0, reserve->bytes, bytes, PAGE_SIZE,
				     &region->blocks, 0);
	/* There are so many bytes: whatever it says, it had no memory for its own needs. */
	if (ret)
		return -ENOMEM;
	list_for_each_entry(block, &region->blocks, link) {
		u64 size = min(gpu_buddy_block_size(&reserve->buddy, block),
			       bytes - (done << PAGE_SHIFT));

		ret = ai_reserve_add_pages(region, &capacity, &done,
					   gpu_buddy_block_offset(block) >> PAGE_SHIFT,
					   size >> PAGE_SHIFT);
		if (ret)
			return ret;
	}
	return 0;
}

static int ai_reserve_take_blocks(struct ai_region *region)
{
	struct ai_device *home = region->home;
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	int ret;

	mutex_lock(&home->mem_lock);
	ret = gpu_buddy_alloc_blocks(&home->buddy, 0, home->mem_bytes, bytes, PAGE_SIZE,
				     &region->blocks, 0);
	if (!ret)
		home->mem_promised -= bytes;
	mutex_unlock(&home->mem_lock);
	return ret ? -ENOMEM : 0; /* as above */
}

/**
 * ai_reserve_take() - take the pages of a region from a reservation
 * @region: with &ai_region.reserve and &ai_region.nr_pages set
 *
 * What was taken belongs to the region even if it fails: ai_reserve_give_back().
 *
 * Return: 0, -EDQUOT when the reservation has not so much left, -ESTALE when the
 * contract let go of it meanwhile, -ENOMEM.
 */
int ai_reserve_take(struct ai_region *region)
{
	struct ai_reserve *reserve = region->reserve;
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	int ret = -EDQUOT;

	mutex_lock(&reserve->lock);
	if (reserve->released) {
		ret = -ESTALE;
	} else if (bytes <= reserve->bytes - reserve->used) {
		ret = reserve->home ? ai_reserve_take_blocks(region) :
				      ai_reserve_take_pages(region);
		if (!list_empty(&region->blocks))
			reserve->used += bytes;
		reserve->touched = ktime_get_ns();
	}
	mutex_unlock(&reserve->lock);
	if (!ret && !reserve->home)
		ai_reserve_clear_pages(region);
	return ret;
}

/* Undo ai_reserve_take(), after the region's addresses are free again. */
void ai_reserve_give_back(struct ai_region *region)
{
	struct ai_reserve *reserve = region->reserve;
	struct ai_device *home = reserve->home;
	u64 bytes = region->nr_pages << PAGE_SHIFT;
	bool released;

	mutex_lock(&reserve->lock);
	released = reserve->released;
	if (!list_empty(&region->blocks)) {
		reserve->used -= bytes;
		reserve->touched = ktime_get_ns();
		if (home)
			mutex_lock(&home->mem_lock);
		gpu_buddy_free_list(home ? &home->buddy : &reserve->buddy, &region->blocks, 0);
		if (home && !released)
			home->mem_promised += bytes;
		if (home)
			mutex_unlock(&home->mem_lock);
	}
	mutex_unlock(&reserve->lock);
	ai_reserve_put(reserve);
	if (released)
		ai_contract_budget_freed();
}
