// SPDX-License-Identifier: GPL-2.0-only
/*
 * Export: a dma-buf of a range of logical addresses.
 *
 * The dma-buf holds the region, and with it the pages, until its last user goes. All
 * that are made of one region share its reservation object, so that a fence that was
 * put on one of them counts for all.
 *
 * Pages of the system never move and never go while somebody has them. Those of a
 * device go with the device, and what another driver has mapped cannot be taken back
 * from it: they are for mmap(), which can be revoked, and for /dev/ai0 alone.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ai_internal.h"
#include "ai_memory.h"

/* Somebody who attached, and what he has mapped; under the lock of the reservation object. */
struct ai_attachment {
	struct list_head maps;
};

struct ai_attachment_map {
	struct list_head node;
	struct sg_table sgt;
	enum dma_data_direction direction;
};

/*
 * Caches are taken care of by calls of their own, so that the pages can be mapped for
 * several devices without the DMA debugging taking it for an error.
 */
#define AI_EXPORT_DMA_ATTRS DMA_ATTR_SKIP_CPU_SYNC

static int ai_export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct ai_dmabuf *export = dmabuf->priv;
	struct ai_attachment *own;

	if (export->region->home)
		return -EOPNOTSUPP;
	own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
	if (!own)
		return -ENOMEM;
	INIT_LIST_HEAD(&own->maps);
	attach->priv = own;
	return 0;
}

static void ai_export_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	kfree(attach->priv);
}

static struct sg_table *ai_export_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction direction)
{
	struct ai_dmabuf *export = attach->dmabuf->priv;
	struct ai_attachment *own = attach->priv;
	struct ai_attachment_map *map;
	int ret;

	if (export->read_only && direction != DMA_TO_DEVICE)
		return ERR_PTR(-EACCES);
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	ret = ai_region_fill_sgt(export->region, export->first, export->pages, attach->dev,
				 &map->sgt);
	if (ret)
		goto free_map;
	ret = dma_map_sgtable(attach->dev, &map->sgt, direction, AI_EXPORT_DMA_ATTRS);
	if (ret)
		goto free_table;
	dma_sync_sgtable_for_device(attach->dev, &map->sgt, direction);
	map->direction = direction;
	list_add(&map->node, &own->maps);
	return &map->sgt;

free_table:
	sg_free_table(&map->sgt);
free_map:
	kfree(map);
	return ERR_PTR(ret);
}

static void ai_export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			    enum dma_data_direction direction)
{
	struct ai_attachment_map *map = container_of(sgt, struct ai_attachment_map, sgt);

	list_del(&map->node);
	dma_sync_sgtable_for_cpu(attach->dev, sgt, map->direction);
	dma_unmap_sgtable(attach->dev, sgt, map->direction, AI_EXPORT_DMA_ATTRS);
	sg_free_table(sgt);
	kfree(map);
}

/* The CPU is about to use the pages, or has: what devices have cached must follow. */
static int ai_export_sync(struct dma_buf *dmabuf, bool begin)
{
	struct dma_buf_attachment *attach;
	struct ai_attachment_map *map;
	int ret;

	ret = dma_resv_lock_interruptible(dmabuf->resv, NULL);
	if (ret)
		return ret;
	list_for_each_entry(attach, &dmabuf->attachments, node) {
		struct ai_attachment *own = attach->priv;

		list_for_each_entry(map, &own->maps, node) {
			if (begin)
				dma_sync_sgtable_for_cpu(attach->dev, &map->sgt, map->direction);
			else
				dma_sync_sgtable_for_device(attach->dev, &map->sgt,
							    map->direction);
		}
	}
	dma_resv_unlock(dmabuf->resv);
	return 0;
}

static int ai_export_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	return ai_export_sync(dmabuf, true);
}

static int ai_export_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	return ai_export_sync(dmabuf, false);
}

/* The mapping becomes one of the region, so that it goes when a device goes. */
static int ai_export_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct ai_dmabuf *export = dmabuf->priv;

	if (export->read_only) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vma->vm_pgoff += (ai_la_to_va(export->region->la) >> PAGE_SHIFT) + export->first;
	return ai_mmap_region(export->region, vma);
}

static int ai_export_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct ai_dmabuf *export = dmabuf->priv;
	void *address = ai_region_vmap(export->region);

	if (!address)
		return -ENOMEM;
	iosys_map_set_vaddr(map, address + (export->first << PAGE_SHIFT));
	return 0;
}

static void ai_export_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct ai_dmabuf *export = dmabuf->priv;

	ai_region_vunmap(export->region, map->vaddr - (export->first << PAGE_SHIFT));
}

static void ai_export_release(struct dma_buf *dmabuf)
{
	struct ai_dmabuf *export = dmabuf->priv;

	ai_region_put(export->region);
	kfree(export);
}

#define AI_EXPORT_OPS							\
	.attach = ai_export_attach,					\
	.detach = ai_export_detach,					\
	.map_dma_buf = ai_export_map,					\
	.unmap_dma_buf = ai_export_unmap,				\
	.begin_cpu_access = ai_export_begin_cpu_access,			\
	.end_cpu_access = ai_export_end_cpu_access,			\
	.mmap = ai_export_mmap,						\
	.release = ai_export_release

static const struct dma_buf_ops ai_export_system_ops = {
	AI_EXPORT_OPS,
	.vmap = ai_export_vmap,
	.vunmap = ai_export_vunmap,
};

/* Whoever maps it for the kernel could not be told that the device has gone. */
static const struct dma_buf_ops ai_export_device_ops = {
	AI_EXPORT_OPS,
};

/* What is behind a dma-buf of our own, NULL for one of somebody else. */
struct ai_dmabuf *ai_export_of(struct dma_buf *dmabuf)
{
	if (dmabuf->ops != &ai_export_system_ops && dmabuf->ops != &ai_export_device_ops)
		return NULL;
	return dmabuf->priv;
}

/* The reservation object of a region, made when it is shared first. */
static struct dma_resv *ai_region_share_resv(struct ai_region *region)
{
	struct ai_region *root = ai_region_root(region);
	struct dma_resv *resv = ai_region_resv(root), *mine;

	if (resv)
		return resv;
	mine = kzalloc(sizeof(*mine), GFP_KERNEL_ACCOUNT);
	if (!mine)
		return NULL;
	dma_resv_init(mine);
	resv = cmpxchg(&root->resv, NULL, mine);
	if (!resv)
		return mine;
	dma_resv_fini(mine);
	kfree(mine);
	return resv;
}

/* Takes over the reference to the region, if it succeeds. */
static struct dma_buf *ai_export_create(struct ai_region *region, u64 first, u64 pages,
					bool read_only)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct ai_dmabuf *export;
	struct dma_buf *dmabuf;

	info.resv = ai_region_share_resv(region);
	if (!info.resv)
		return ERR_PTR(-ENOMEM);
	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return ERR_PTR(-ENOMEM);
	export->region = region;
	export->first = first;
	export->pages = pages;
	export->read_only = read_only;
	info.exp_name = "ai0";
	info.ops = region->home ? &ai_export_device_ops : &ai_export_system_ops;
	info.size = pages << PAGE_SHIFT;
	info.flags = O_CLOEXEC | (read_only ? O_RDONLY : O_RDWR);
	info.priv = export;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		kfree(export);
		return dmabuf;
	}
	/* As with /dev/ai0: one mapping for all, so that a device's can be revoked. */
	dmabuf->file->f_mapping = ai_inode->i_mapping;
	return dmabuf;
}

/* What was imported is given as it is, which can only be done with all of it. */
static int ai_export_again(struct ai_call *call, struct ai_region *region, u64 first, u64 pages,
			   bool read_only)
{
	struct ai_source *source = region->source;

	if (first || pages != region->nr_pages || source->first ||
	    pages << PAGE_SHIFT != source->dmabuf->size)
		return ai_fail(call, -EOPNOTSUPP,
			       "la 0x%llx was imported from a dma-buf of %s, of which it can only be exported whole: %llu pages, not %llu from page %llu on",
			       region->la, source->dmabuf->exp_name,
			       (u64)source->dmabuf->size >> PAGE_SHIFT, pages,
			       source->first + first);
	if (read_only && !source->read_only)
		return ai_fail(call, -EOPNOTSUPP,
			       "la 0x%llx was imported from a dma-buf of %s that can be written, it cannot be made read-only",
			       region->la, source->dmabuf->exp_name);
	get_dma_buf(source->dmabuf);
	call->new_file = source->dmabuf->file;
	return 0;
}

static int ai_export_new(struct ai_call *call, struct ai_region *region, u64 first, u64 pages,
			 bool read_only)
{
	struct dma_buf *dmabuf;

	kref_get(&region->ref);
	dmabuf = ai_export_create(region, first, pages, read_only);
	if (IS_ERR(dmabuf)) {
		ai_region_put(region);
		return ai_fail(call, PTR_ERR(dmabuf), "no dma-buf could be made of la 0x%llx",
			       region->la);
	}
	call->new_file = dmabuf->file;
	return 0;
}

static int ai_export_check(struct ai_call *call, const struct ai_region *region,
			   const struct ai_export *arg, u64 *first, u64 *pages)
{
	u64 left;

	if (!PAGE_ALIGNED(arg->offset) || !PAGE_ALIGNED(arg->bytes))
		return ai_fail(call, -EINVAL,
			       "offset is %llu and bytes %llu, multiples of %lu are needed",
			       arg->offset, arg->bytes, PAGE_SIZE);
	left = region->nr_pages - (arg->la - region->la);
	if (arg->offset >> PAGE_SHIFT >= left)
		return ai_fail(call, -EINVAL,
			       "offset is %llu, from la 0x%llx on the range has %llu bytes",
			       arg->offset, arg->la, left << PAGE_SHIFT);
	*first = region->nr_pages - left + (arg->offset >> PAGE_SHIFT);
	*pages = arg->bytes ? arg->bytes >> PAGE_SHIFT : region->nr_pages - *first;
	if (*pages > region->nr_pages - *first)
		return ai_fail(call, -EINVAL,
			       "bytes is %llu, behind offset %llu the range has %llu", arg->bytes,
			       arg->offset, (region->nr_pages - *first) << PAGE_SHIFT);
	if (ai_region_read_only(region) && !(arg->hdr.flags & AI_EXPORT_READ_ONLY))
		return ai_fail(call, -EACCES,
			       "la 0x%llx cannot be written, only AI_EXPORT_READ_ONLY is possible",
			       region->la);
	return 0;
}

int ai_ioctl_export(struct ai_call *call, struct ai_export *arg)
{
	bool read_only = arg->hdr.flags & AI_EXPORT_READ_ONLY;
	struct ai_region *region;
	u64 first, pages;
	int ret;

	if (arg->reserved)
		return ai_fail(call, -EINVAL, "reserved is 0x%x, it must be 0", arg->reserved);
	region = ai_region_lookup(call, arg->la, NULL, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	ret = ai_export_check(call, region, arg, &first, &pages);
	if (ret)
		goto put;
	ret = get_unused_fd_flags(O_CLOEXEC);
	if (ret < 0) {
		ai_fail(call, ret, "no file descriptor is free");
		goto put;
	}
	call->new_fd = ret;
	if (ai_region_origin(region) == AI_ORIGIN_DMABUF)
		ret = ai_export_again(call, region, first, pages, read_only);
	else
		ret = ai_export_new(call, region, first, pages, read_only);
	if (ret) {
		put_unused_fd(call->new_fd);
		goto put;
	}
	arg->fd = call->new_fd;
	arg->bytes = pages << PAGE_SHIFT;
put:
	ai_region_put(region);
	return ret;
}

AI_IMPORT_NS(DMA_BUF);
