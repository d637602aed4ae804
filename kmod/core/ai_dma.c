// SPDX-License-Identifier: GPL-2.0-only
/*
 * How drivers reach the pages of a region: by DMA, or as bytes of the kernel where a
 * device has none. Pages of somebody else are reached as their exporter says, which is
 * never by their struct page.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ai_memory.h"

/**
 * ai_region_fill_sgt() - scatter list of pages of a region in system memory
 * @region: the region
 * @first: its page to begin with
 * @pages: how many
 * @dev: device it is for, whose longest segment is kept to
 * @sgt: filled in
 *
 * Return: 0 or -ENOMEM.
 */
int ai_region_fill_sgt(const struct ai_region *region, u64 first, u64 pages, struct device *dev,
		       struct sg_table *sgt)
{
	u64 most = (dma_get_max_seg_size(dev) >> PAGE_SHIFT) ?: 1;
	struct scatterlist *sg;
	unsigned int count = 0;
	u64 page, nr;
	int pass, ret;

	/* Once to count them, once to fill them in. */
	for (pass = 0; pass < 2; pass++) {
		for (page = first; page < first + pages; page += nr) {
			const struct ai_chunk *chunk = ai_region_chunk(region, page);
			u64 skip = page - chunk->start;

			nr = min3(chunk->nr - skip, first + pages - page, most);
			if (!pass) {
				count++;
				continue;
			}
			sg_set_page(sg, pfn_to_page(chunk->pfn + skip), nr << PAGE_SHIFT, 0);
			sg = sg_next(sg);
		}
		if (!pass) {
			ret = sg_alloc_table(sgt, count, GFP_KERNEL);
			if (ret)
				return ret;
			sg = sgt->sgl;
		}
		cond_resched();
	}
	return 0;
}

static int ai_region_dma_map_foreign(struct ai_region_dma *dma)
{
	struct sg_table *sgt;

	dma->attach = dma_buf_attach(dma->region->source->dmabuf, dma->dev);
	if (IS_ERR(dma->attach))
		return PTR_ERR(dma->attach);
	sgt = dma_buf_map_attachment_unlocked(dma->attach, dma->direction);
	if (IS_ERR(sgt)) {
		dma_buf_detach(dma->region->source->dmabuf, dma->attach);
		return PTR_ERR(sgt);
	}
	dma->sgt = sgt;
	return 0;
}

int ai_region_dma_map(struct ai_region *region, struct device *dev,
		      enum dma_data_direction direction, unsigned long attrs,
		      struct ai_region_dma *dma)
{
	int ret;

	if (!ai_region_is_system(region))
		return -EINVAL;
	memset(dma, 0, sizeof(*dma));
	dma->region = region;
	dma->dev = dev;
	dma->direction = direction;
	dma->attrs = attrs;
	if (ai_region_origin(region) == AI_ORIGIN_DMABUF)
		return ai_region_dma_map_foreign(dma);
	ret = ai_region_fill_sgt(region, 0, region->nr_pages, dev, &dma->own);
	if (ret)
		return ret;
	ret = dma_map_sgtable(dev, &dma->own, direction, attrs);
	if (ret) {
		sg_free_table(&dma->own);
		return ret;
	}
	dma->sgt = &dma->own;
	return 0;
}
EXPORT_SYMBOL_GPL(ai_region_dma_map);

void ai_region_dma_unmap(struct ai_region_dma *dma)
{
	if (!dma->sgt)
		return;
	if (dma->attach) {
		dma_buf_unmap_attachment_unlocked(dma->attach, dma->sgt, dma->direction);
		dma_buf_detach(dma->region->source->dmabuf, dma->attach);
	} else {
		dma_unmap_sgtable(dma->dev, &dma->own, dma->direction, dma->attrs);
		sg_free_table(&dma->own);
	}
	dma->sgt = NULL;
}
EXPORT_SYMBOL_GPL(ai_region_dma_unmap);

int ai_region_dma_visit(const struct ai_region_dma *dma, ai_dma_fn fn, void *arg)
{
	/* Of a dma-buf of somebody else, all of it is mapped. */
	u64 skip = dma->attach ? dma->region->source->first << PAGE_SHIFT : 0;
	u64 left = dma->region->nr_pages << PAGE_SHIFT;
	u64 at = 0, bytes = 0;
	struct scatterlist *sg;
	int i, ret;

	for_each_sgtable_dma_sg(dma->sgt, sg, i) {
		u64 address = sg_dma_address(sg), length = sg_dma_len(sg);

		if (skip >= length) {
			skip -= length;
			continue;
		}
		address += skip;
		length = min(length - skip, left);
		skip = 0;
		left -= length;
		/* Pieces that follow each other are one: larger entries of page tables. */
		if (bytes && address != at + bytes) {
			ret = fn(at, bytes, arg);
			if (ret)
				return ret;
			bytes = 0;
		}
		if (!bytes)
			at = address;
		bytes += length;
		if (!left)
			break;
		cond_resched();
	}
	/* An exporter that maps less than it has. */
	if (left)
		return -EINVAL;
	return fn(at, bytes, arg);
}
EXPORT_SYMBOL_GPL(ai_region_dma_visit);

/**
 * ai_region_prepare_vmap() - see to it that ai_region_vmap() finds the bytes
 * @region: the region
 *
 * Pages of somebody else stay mapped for as long as there is the region, because a
 * job may not ask the exporter for them.
 *
 * Return: 0 or a negative error number.
 */
int ai_region_prepare_vmap(struct ai_region *region)
{
	struct ai_source *source = region->source;
	struct iosys_map map;
	int ret = 0;

	if (ai_region_origin(region) != AI_ORIGIN_DMABUF)
		return 0;
	mutex_lock(&region->map_lock);
	if (!iosys_map_is_set(&source->vmap)) {
		ret = dma_buf_vmap_unlocked(source->dmabuf, &map);
		if (!ret && map.is_iomem) {
			dma_buf_vunmap_unlocked(source->dmabuf, &map);
			ret = -EOPNOTSUPP;
		}
		if (!ret)
			source->vmap = map;
	}
	mutex_unlock(&region->map_lock);
	return ret == -EINVAL ? -EOPNOTSUPP : ret;
}

/**
 * ai_region_vmap() - bytes of a region, for a driver whose device has no DMA
 * @region: in system memory, or in device memory that is ordinary RAM
 *
 * Return: the address, to be given back with ai_region_vunmap(), or NULL.
 */
void *ai_region_vmap(struct ai_region *region)
{
	struct page **pages;
	void *address;
	u64 page = 0;
	u32 i, j;

	if (ai_region_origin(region) == AI_ORIGIN_DMABUF)
		return region->source->vmap.vaddr ? region->source->vmap.vaddr +
						    (region->source->first << PAGE_SHIFT) : NULL;
	if (!pfn_valid(region->chunks[0].pfn))
		return NULL;
	if (region->nr_chunks == 1)
		return page_address(pfn_to_page(region->chunks[0].pfn));

	pages = kvmalloc_array(region->nr_pages, sizeof(*pages), GFP_KERNEL | __GFP_NOWARN);
	if (!pages)
		return NULL;
	for (i = 0; i < region->nr_chunks; i++)
		for (j = 0; j < region->chunks[i].nr; j++)
			pages[page++] = pfn_to_page(region->chunks[i].pfn + j);
	address = vmap(pages, region->nr_pages, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return address;
}
EXPORT_SYMBOL_GPL(ai_region_vmap);

void ai_region_vunmap(struct ai_region *region, void *address)
{
	if (region->nr_chunks > 1)
		vunmap(address);
}
EXPORT_SYMBOL_GPL(ai_region_vunmap);
