// SPDX-License-Identifier: GPL-2.0-only
/*
 * The MMU of the device: page tables in coherent memory, one address space an
 * open file and one of the driver's own, regions mapped in them.
 *
 * The device is not told of new entries: it does not remember that an address
 * could not be reached. It is told of entries that went, and what they named is
 * given back only when it has confirmed, or has been stopped. Tables that became
 * empty are freed at that moment too, because a walk may still be in them.
 */
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "ai_npu.h"

#define AI_NPU_ENTRIES 512
#define AI_NPU_TOP (AI_NPU_LEVELS - 1)
#define AI_NPU_PAGE_SHIFT 12
#define AI_NPU_PAGE_BYTES BIT_ULL(AI_NPU_PAGE_SHIFT)

static_assert(AI_NPU_PAGE_SHIFT + 9 * AI_NPU_LEVELS == NPU_VA_BITS);
static_assert(AI_NPU_PAGE_BYTES == PAGE_SIZE);

/*
 * The pages are shared with the CPU for as long as they are mapped, so there is
 * no moment at which they could be synchronised: a system on which that would be
 * needed is refused, see ai_npu_map_pages(). It also lets one region be mapped
 * for two devices without the DMA debugging taking it for an error.
 */
#define AI_NPU_DMA_ATTRS DMA_ATTR_SKIP_CPU_SYNC

/* Bytes that one entry of a table of that level covers. */
static u64 ai_npu_level_bytes(u32 level)
{
	return BIT_ULL(AI_NPU_PAGE_SHIFT + 9 * level);
}

static u32 ai_npu_level_index(u64 va, u32 level)
{
	return (va >> (AI_NPU_PAGE_SHIFT + 9 * level)) % AI_NPU_ENTRIES;
}

/* ---- tables ---- */

static struct ai_npu_table *ai_npu_table_alloc(struct ai_npu *npu, u32 level)
{
	struct ai_npu_table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	if (level) {
		table->child = kcalloc(AI_NPU_ENTRIES, sizeof(*table->child), GFP_KERNEL_ACCOUNT);
		if (!table->child)
			goto free;
	}
	table->entry = dma_alloc_coherent(&npu->pdev->dev, AI_NPU_PAGE_BYTES, &table->dma,
					  GFP_KERNEL_ACCOUNT);
	if (!table->entry)
		goto free;
	return table;

free:
	kfree(table->child);
	kfree(table);
	return NULL;
}

static void ai_npu_table_free(struct ai_npu *npu, struct ai_npu_table *table)
{
	dma_free_coherent(&npu->pdev->dev, AI_NPU_PAGE_BYTES, table->entry, table->dma);
	kfree(table->child);
	kfree(table);
}

static void ai_npu_tables_free(struct ai_npu *npu, struct list_head *tables)
{
	struct ai_npu_table *table, *next;

	list_for_each_entry_safe(table, next, tables, free_node)
		ai_npu_table_free(npu, table);
}

/* The table of @level for an address; made if it is not there. */
static struct ai_npu_table *ai_npu_table_get(struct ai_npu *npu, struct ai_npu_as *as, u64 va,
					     u32 level)
{
	struct ai_npu_table *table = as->root;
	u32 at;

	for (at = AI_NPU_TOP; at > level; at--) {
		u32 i = ai_npu_level_index(va, at);
		struct ai_npu_table *child = table->child[i];

		if (!child) {
			/* Or a 2 MiB leaf is in the way. */
			if (table->entry[i])
				return ERR_PTR(-EEXIST);
			child = ai_npu_table_alloc(npu, at - 1);
			if (!child)
				return ERR_PTR(-ENOMEM);
			table->child[i] = child;
			table->used++;
			dma_wmb(); /* an empty table before the entry that leads to it */
			WRITE_ONCE(table->entry[i], child->dma | NPU_PTE_VALID);
		}
		table = child;
	}
	return table;
}

static int ai_npu_table_set(struct ai_npu *npu, struct ai_npu_as *as, u64 va, u64 addr,
			    u32 level, u64 flags)
{
	struct ai_npu_table *table = ai_npu_table_get(npu, as, va, level);
	u32 i = ai_npu_level_index(va, level);

	if (IS_ERR(table))
		return PTR_ERR(table);
	if (table->entry[i])
		return -EEXIST;
	WRITE_ONCE(table->entry[i], addr | flags | NPU_PTE_LEAF | NPU_PTE_VALID);
	table->used++;
	return 0;
}

/*
 * Clear what is mapped in [va, last] below @table; holes are skipped. Tables
 * that became empty go to @tables.
 */
static void ai_npu_table_clear(struct ai_npu_table *table, u32 level, u64 va, u64 last,
			       struct list_head *tables)
{
	u64 step = ai_npu_level_bytes(level);
	u32 i = ai_npu_level_index(va, level);
	u32 end = ai_npu_level_index(last, level);

	for (; i <= end; i++) {
		struct ai_npu_table *child = level ? table->child[i] : NULL;
		/* Of the range, what entry @i covers. */
		u64 next = ALIGN_DOWN(va, step) + step;

		if (child) {
			ai_npu_table_clear(child, level - 1, va, min(last, next - 1), tables);
			if (!child->used) {
				WRITE_ONCE(table->entry[i], 0);
				table->child[i] = NULL;
				table->used--;
				list_add(&child->free_node, tables);
			}
		} else if (table->entry[i]) {
			WRITE_ONCE(table->entry[i], 0);
			table->used--;
		}
		va = next;
	}
}

static void ai_npu_tree_free(struct ai_npu *npu, struct ai_npu_table *table, u32 level)
{
	u32 i;

	for (i = 0; level && i < AI_NPU_ENTRIES; i++)
		if (table->child[i])
			ai_npu_tree_free(npu, table->child[i], level - 1);
	ai_npu_table_free(npu, table);
}

/* ---- mapping ---- */

struct ai_npu_mapping {
	struct ai_npu *npu;
	struct ai_npu_as *as;
	u64 va;
	u64 end;
	u64 flags;
};

/* Map a piece of contiguous memory at mapping->va and go on behind it. */
static int ai_npu_map_piece(struct ai_npu_mapping *mapping, u64 addr, u64 bytes)
{
	if (!IS_ALIGNED(addr | bytes, AI_NPU_PAGE_BYTES) || bytes > mapping->end - mapping->va ||
	    addr & ~NPU_PTE_ADDR || (addr + bytes - 1) & ~(NPU_PTE_ADDR | ~PAGE_MASK))
		return -EINVAL;

	while (bytes) {
		u64 large = ai_npu_level_bytes(1);
		u32 level = IS_ALIGNED(mapping->va | addr, large) && bytes >= large;
		u64 step = ai_npu_level_bytes(level);
		int ret;

		ret = ai_npu_table_set(mapping->npu, mapping->as, mapping->va, addr, level,
				       mapping->flags);
		if (ret)
			return ret;
		mapping->va += step;
		addr += step;
		bytes -= step;
	}
	return 0;
}

static int ai_npu_map_block(u64 offset, u64 bytes, void *arg)
{
	struct ai_npu_mapping *mapping = arg;
	u64 mem = mapping->npu->adev->mem_bytes;

	if (offset >= mem || bytes > mem - offset)
		return -EINVAL;
	return ai_npu_map_piece(mapping, offset, bytes);
}

static int ai_npu_map_dma(u64 address, u64 bytes, void *arg)
{
	return ai_npu_map_piece(arg, address, bytes);
}

/*
 * Make the device forget a range of an address space, whose entries have been
 * cleared. Afterwards it does not reach what they named, whatever it takes.
 */
static void ai_npu_mmu_invalidate(struct ai_npu *npu, struct ai_npu_as *as, u64 va, u64 bytes)
{
	struct npu_cmd cmd = {
		.op = NPU_OP_TLB_INVALIDATE,
		.asid = as->asid,
		.arg = { va, bytes },
	};
	int stops, ret;

	dma_wmb(); /* the cleared entries before the command */
	stops = atomic_read(&npu->stops);
	ret = ai_npu_command(npu, &cmd, stops, NULL, ai_npu_timeout(&ai_npu_command_timeout_ms));
	/* Stopped, or started again since and not told of the address space yet. */
	if (!ret || ret == -ESHUTDOWN || ret == -ENOENT)
		return;
	ai_npu_recovery_wait_stop(npu, stops, "the device did not let go of memory");
}

static void ai_npu_mmu_clear(struct ai_npu *npu, struct ai_npu_as *as, u64 va, u64 bytes)
{
	LIST_HEAD(tables);

	if (!bytes)
		return;
	mutex_lock(&as->mutex);
	ai_npu_table_clear(as->root, AI_NPU_TOP, va, va + bytes - 1, &tables);
	mutex_unlock(&as->mutex);
	ai_npu_mmu_invalidate(npu, as, va, bytes);
	ai_npu_tables_free(npu, &tables);
}

static int ai_npu_map_pages(struct ai_npu *npu, struct ai_npu_map *map, struct ai_region *region)
{
	struct device *dev = &npu->pdev->dev;
	struct scatterlist *sg;
	int i, ret;

	ret = ai_region_dma_map(region, dev, map->direction, AI_NPU_DMA_ATTRS, &map->dma);
	if (ret)
		return ret;
	for_each_sgtable_dma_sg(map->dma.sgt, sg, i) {
		if (!dma_need_sync(dev, sg_dma_address(sg)))
			continue;
		dev_err_ratelimited(dev, "the device cannot reach the memory of applications in place on this system (it is not coherent, or goes through bounce buffers)\n");
		ai_region_dma_unmap(&map->dma);
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * ai_npu_mmu_map() - make a region reachable for the device
 * @npu: the device
 * @as: address space
 * @region: in system memory or in the memory of this device
 * @va: device address of its first page
 * @perm: AI_PERM_*
 *
 * Return: the map, to be undone with ai_npu_mmu_unmap(), or an error pointer.
 */
struct ai_npu_map *ai_npu_mmu_map(struct ai_npu *npu, struct ai_npu_as *as,
				  struct ai_region *region, u64 va, u32 perm)
{
	struct ai_device *home = ai_region_home(region);
	u64 bytes = ai_region_bytes(region);
	struct ai_npu_mapping mapping = {
		.npu = npu,
		.as = as,
		.va = va,
		.end = va + bytes,
		.flags = (perm & AI_PERM_READ ? NPU_PTE_READ : 0) |
			 (perm & AI_PERM_WRITE ? NPU_PTE_WRITE : 0) |
			 (home ? NPU_PTE_DEVICE : 0),
	};
	struct ai_npu_map *map;
	int ret;

	if (home && home != npu->adev) {
		dev_err_ratelimited(&npu->pdev->dev, "the device cannot reach the memory of %s\n",
				    dev_name(&home->dev));
		return ERR_PTR(-EOPNOTSUPP);
	}
	if (!bytes || !IS_ALIGNED(va | bytes, AI_NPU_PAGE_BYTES) || va >> NPU_VA_BITS ||
	    bytes > BIT_ULL(NPU_VA_BITS) - va)
		return ERR_PTR(-EINVAL);

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->as = as;
	map->va = va;
	map->bytes = bytes;
	map->direction = perm & AI_PERM_WRITE ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	if (!home) {
		ret = ai_npu_map_pages(npu, map, region);
		if (ret)
			goto free;
	}

	mutex_lock(&as->mutex);
	ret = home ? ai_region_visit_blocks(region, ai_npu_map_block, &mapping) :
		     ai_region_dma_visit(&map->dma, ai_npu_map_dma, &mapping);
	if (!ret && mapping.va != mapping.end)
		ret = -EINVAL;
	mutex_unlock(&as->mutex);
	if (ret) {
		if (ret != -ENOMEM)
			dev_err(&npu->pdev->dev, "0x%llx bytes could not be mapped at device address 0x%llx (error %d)\n",
				bytes, va, ret);
		/* With -EEXIST something is there already that is not ours. */
		ai_npu_mmu_clear(npu, as, va, ret == -EEXIST ? mapping.va - va : bytes);
		ai_region_dma_unmap(&map->dma);
		goto free;
	}
	return map;

free:
	kfree(map);
	return ERR_PTR(ret);
}

/**
 * ai_npu_mmu_unmap() - undo ai_npu_mmu_map()
 * @npu: the device
 * @map: the map
 *
 * When it returns the device does not reach the pages any more, be it by its
 * own word, by a reset or because it was cut off.
 */
void ai_npu_mmu_unmap(struct ai_npu *npu, struct ai_npu_map *map)
{
	ai_npu_mmu_clear(npu, map->as, map->va, map->bytes);
	ai_region_dma_unmap(&map->dma);
	kfree(map);
}

/**
 * ai_npu_mmu_entry() - look up an entry of a page table, as the device would
 * @as: address space
 * @va: device address
 * @entry: the entry, 0 if nothing is mapped
 * @level: level of the table it is in
 *
 * Return: how many bytes the entry covers.
 */
u64 ai_npu_mmu_entry(struct ai_npu_as *as, u64 va, u64 *entry, u32 *level)
{
	struct ai_npu_table *table;
	u32 at = AI_NPU_TOP, i;

	mutex_lock(&as->mutex);
	table = as->root;
	i = ai_npu_level_index(va, at);
	while (at && table->child[i]) {
		table = table->child[i];
		i = ai_npu_level_index(va, --at);
	}
	*entry = READ_ONCE(table->entry[i]);
	mutex_unlock(&as->mutex);
	*level = at;
	return ai_npu_level_bytes(at);
}

/* ---- address spaces ---- */

static struct ai_npu_as *ai_npu_as_alloc(struct ai_npu *npu, u32 asid)
{
	struct ai_npu_as *as = kzalloc(sizeof(*as), GFP_KERNEL_ACCOUNT);

	if (!as)
		return NULL;
	as->root = ai_npu_table_alloc(npu, AI_NPU_TOP);
	if (!as->root) {
		kfree(as);
		return NULL;
	}
	mutex_init(&as->mutex);
	as->asid = asid;
	return as;
}

static void ai_npu_as_free(struct ai_npu *npu, struct ai_npu_as *as)
{
	ai_npu_tree_free(npu, as->root, AI_NPU_TOP);
	mutex_destroy(&as->mutex);
	kfree(as);
}

/* Tell the device of an address space, unless it has been since it was last stopped. */
static int ai_npu_as_tell(struct ai_npu *npu, struct ai_npu_as *as, int stops,
			  unsigned int timeout_ms)
{
	struct npu_cmd cmd = {
		.op = NPU_OP_AS_CREATE,
		.asid = as->asid,
		.arg[0] = as->root->dma,
	};
	int ret;

	lockdep_assert_held(&npu->as_mutex);
	if (as->stops == stops)
		return 0;
	ret = ai_npu_command(npu, &cmd, stops, NULL, timeout_ms);
	/* Without an answer to trust it may have been told all the same. */
	if (!ret || ret == -ETIME || ret == -EIO)
		as->stops = stops;
	return ret;
}

int ai_npu_as_create(struct ai_device *adev, struct ai_as *ai_as)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_as *as;
	int asid, stops, ret;

	asid = ida_alloc_range(&npu->asids, 1, NPU_ASIDS - 1, GFP_KERNEL);
	if (asid < 0)
		return asid;
	as = ai_npu_as_alloc(npu, asid);
	if (!as) {
		ret = -ENOMEM;
		goto free_asid;
	}

	mutex_lock(&npu->as_mutex);
	stops = atomic_read(&npu->stops);
	as->stops = stops - 1;
	ret = ai_npu_as_tell(npu, as, stops, ai_npu_timeout(&ai_npu_command_timeout_ms));
	if (!ret)
		list_add_tail(&as->node, &npu->as_list);
	mutex_unlock(&npu->as_mutex);
	if (!ret) {
		ai_as->driver_data = as;
		return 0;
	}

	/* It may have taken the command all the same, and walk the tables. */
	if (ret == -ETIME || ret == -EIO)
		ai_npu_recovery_wait_stop(npu, stops, "the device did not take an address space");
	ai_npu_as_free(npu, as);
	if (ret == -ESHUTDOWN || ret == -ETIME)
		ret = -EAGAIN; /* when it has recovered */
free_asid:
	ida_free(&npu->asids, asid);
	return ret;
}

void ai_npu_as_destroy(struct ai_device *adev, struct ai_as *ai_as)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_as *as = ai_as->driver_data;
	struct npu_cmd cmd = { .op = NPU_OP_AS_DESTROY, .asid = as->asid };
	int stops, ret = 0;

	mutex_lock(&npu->as_mutex);
	list_del(&as->node);
	stops = atomic_read(&npu->stops);
	if (as->stops == stops)
		ret = ai_npu_command(npu, &cmd, stops, NULL,
				     ai_npu_timeout(&ai_npu_command_timeout_ms));
	mutex_unlock(&npu->as_mutex);
	if (ret && ret != -ESHUTDOWN && ret != -ENOENT)
		ai_npu_recovery_wait_stop(npu, stops, "the device did not drop an address space");

	ai_npu_as_free(npu, as);
	ida_free(&npu->asids, cmd.asid);
}

int ai_npu_as_map(struct ai_device *adev, struct ai_region_map *region_map)
{
	struct ai_npu *npu = adev->driver_data;
	struct ai_npu_map *map;

	map = ai_npu_mmu_map(npu, region_map->as->driver_data, region_map->region,
			     region_map->va, ai_region_perm(region_map->region));
	if (IS_ERR(map))
		return PTR_ERR(map);
	region_map->driver_data = map;
	return 0;
}

void ai_npu_as_unmap(struct ai_device *adev, struct ai_region_map *region_map)
{
	ai_npu_mmu_unmap(adev->driver_data, region_map->driver_data);
}

/**
 * ai_npu_mmu_restore() - tell a device that was just booted of all address spaces
 * @npu: the device, with the control queue open
 *
 * All of them together have the time of one command.
 *
 * Return: 0 or a negative error number.
 */
int ai_npu_mmu_restore(struct ai_npu *npu)
{
	unsigned int timeout = ai_npu_timeout(&ai_npu_command_timeout_ms);
	unsigned long end = jiffies + msecs_to_jiffies(timeout);
	int stops = atomic_read(&npu->stops);
	struct ai_npu_as *as;
	int ret;

	mutex_lock(&npu->as_mutex);
	ret = ai_npu_as_tell(npu, npu->own_as, stops, timeout);
	list_for_each_entry(as, &npu->as_list, node) {
		unsigned long now = jiffies;

		if (!ret && time_after_eq(now, end))
			ret = -ETIME;
		if (ret)
			break;
		ret = ai_npu_as_tell(npu, as, stops, jiffies_to_msecs(end - now));
	}
	mutex_unlock(&npu->as_mutex);
	if (ret)
		dev_err(&npu->pdev->dev, "the device could not be told of its address spaces (error %d)\n",
			ret);
	return ret;
}

int ai_npu_mmu_init(struct ai_npu *npu)
{
	npu->own_as = ai_npu_as_alloc(npu, 0);
	if (!npu->own_as)
		return -ENOMEM;
	npu->own_as->stops = atomic_read(&npu->stops) - 1;
	return 0;
}

void ai_npu_mmu_fini(struct ai_npu *npu)
{
	WARN_ON(!list_empty(&npu->as_list));
	ai_npu_as_free(npu, npu->own_as);
	ida_destroy(&npu->asids);
}
