/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that is shared with others: inside ai.ko. */
#ifndef AI_MEMORY_H
#define AI_MEMORY_H

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>

#include "ai_internal.h"

/**
 * struct ai_source - where the pages of a region come from that were not allocated for it
 * @origin: &enum ai_origin
 * @read_only: neither devices nor the CPU may write
 * @first: page of @parent or @dmabuf that the region begins with
 * @parent: of a view: whose pages they are; not a view itself
 * @dmabuf: of a dma-buf of somebody else
 * @vmap: it, mapped for the kernel, once somebody asked; under &ai_region.map_lock
 * @user: whom pinned pages are charged to, or NULL
 * @charged: how many pages
 */
struct ai_source {
	enum ai_origin origin;
	bool read_only;
	u64 first;
	struct ai_region *parent;
	struct dma_buf *dmabuf;
	struct iosys_map vmap;
	struct user_struct *user;
	u64 charged;
};

/**
 * struct ai_dmabuf - behind a dma-buf that was exported
 * @region: whose pages they are; a reference
 * @first: its page that the dma-buf begins with
 * @pages: how many
 * @read_only: who has it may not write
 */
struct ai_dmabuf {
	struct ai_region *region;
	u64 first;
	u64 pages;
	bool read_only;
};

/* ---- ai_dmabuf.c ---- */

struct ai_dmabuf *ai_export_of(struct dma_buf *dmabuf);

/* ---- ai_pin.c ---- */

int ai_pin_user(struct ai_call *call, struct ai_region *region, u64 address);
int ai_pin_memfd(struct ai_call *call, struct ai_region *region, struct file *file, u64 offset);
void ai_unpin(struct ai_region *region);
bool ai_file_is_memfd(struct file *file);

/* ---- ai_sync.c ---- */

const char *ai_region_exporter(const struct ai_region *region);

/* ---- of a region ---- */

static inline enum ai_origin ai_region_origin(const struct ai_region *region)
{
	return region->source ? region->source->origin : AI_ORIGIN_ALLOC;
}

static inline bool ai_region_read_only(const struct ai_region *region)
{
	return region->source && region->source->read_only;
}

/* The region whose pages they are. */
static inline struct ai_region *ai_region_root(struct ai_region *region)
{
	return ai_region_origin(region) == AI_ORIGIN_VIEW ? region->source->parent : region;
}

/* The reservation object that says who else uses the pages, NULL if they are not shared. */
static inline struct dma_resv *ai_region_resv(struct ai_region *region)
{
	if (ai_region_origin(region) == AI_ORIGIN_DMABUF)
		return region->source->dmabuf->resv;
	return READ_ONCE(ai_region_root(region)->resv);
}

#endif /* AI_MEMORY_H */
