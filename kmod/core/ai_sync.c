// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking turns with others who use the same pages: their fences, and the caches.
 *
 * A fence is waited for in the call that needs the pages, before anything is submitted
 * and with no lock held, so that whoever owes it can hold up that call alone.
 */
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>

#include "ai_memory.h"

struct ai_fence_waiter {
	struct dma_fence_cb callback;
	struct completion signalled;
};

static void ai_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	complete(&container_of(callback, struct ai_fence_waiter, callback)->signalled);
}

/* Killable, which none of the kernel's own waits for a fence is. */
static int ai_fence_wait(struct dma_fence *fence, ktime_t until)
{
	struct ai_fence_waiter waiter;
	long left;

	init_completion(&waiter.signalled);
	if (dma_fence_add_callback(fence, &waiter.callback, ai_fence_signalled))
		return 0; /* it has signalled */
	do {
		left = wait_for_completion_killable_timeout(&waiter.signalled,
							    ai_jiffies_until(until));
	} while (!left && ai_time_left(until));
	if (left > 0)
		return 0;
	/* False: it has signalled after all, and the callback has returned. */
	if (!dma_fence_remove_callback(fence, &waiter.callback))
		return 0;
	return left ? -EINTR : -ETIME;
}

/* Who made the pages reachable for others. */
const char *ai_region_exporter(const struct ai_region *region)
{
	return ai_region_origin(region) == AI_ORIGIN_DMABUF ? region->source->dmabuf->exp_name :
							      "ai0";
}

static int ai_region_wait_fail(struct ai_call *call, struct ai_region *region,
			       struct dma_fence *all, int error)
{
	struct dma_fence_unwrap cursor;
	struct dma_fence *fence;

	if (error == -EINTR)
		return ai_fail(call, error,
			       "a fatal signal ended the wait for a fence on la 0x%llx",
			       region->la);
	dma_fence_unwrap_for_each(fence, &cursor, all) {
		if (dma_fence_is_signaled(fence))
			continue;
		ai_fail(call, error,
			"la 0x%llx, shared by %s, is still used by %s: its fence %llu of %s has not signalled in time",
			region->la, ai_region_exporter(region), fence->ops->get_driver_name(fence),
			fence->seqno, fence->ops->get_timeline_name(fence));
		/* The walk ends early: what it holds is given back. */
		dma_fence_put(cursor.chain);
		return error;
	}
	return ai_fail(call, error, "a fence on la 0x%llx signalled too late", region->la);
}

/**
 * ai_region_wait() - wait for those who use the pages of a region
 * @call: the call
 * @region: the region
 * @write: they will be written, so that readers count as well
 * @until: how long, 0: as long as it takes
 *
 * Fences that are added meanwhile are not waited for.
 *
 * Return: 0, -ETIME or -EINTR.
 */
int ai_region_wait(struct ai_call *call, struct ai_region *region, bool write, ktime_t until)
{
	enum dma_resv_usage usage = dma_resv_usage_rw(write);
	struct dma_resv *resv = ai_region_resv(region);
	struct dma_fence *fence;
	int ret;

	if (!resv || dma_resv_test_signaled(resv, usage))
		return 0;
	ret = dma_resv_get_singleton(resv, usage, &fence);
	if (ret)
		return ai_fail(call, ret, "the system has no memory for a wait");
	if (!fence)
		return 0;
	ret = ai_fence_wait(fence, until);
	if (ret)
		ai_region_wait_fail(call, region, fence, ret);
	dma_fence_put(fence);
	return ret;
}

static enum dma_data_direction ai_sync_direction(u32 flags)
{
	if (!(flags & AI_SYNC_WRITE))
		return DMA_FROM_DEVICE;
	return flags & AI_SYNC_READ ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

int ai_ioctl_sync(struct ai_call *call, struct ai_sync *arg)
{
	bool end = arg->hdr.flags & AI_SYNC_END;
	u32 uses = arg->hdr.flags & (AI_SYNC_READ | AI_SYNC_WRITE);
	struct ai_region *region;
	struct dma_buf *dmabuf;
	int ret = 0;

	if (!uses)
		return ai_fail(call, -EINVAL,
			       "flags are 0x%x, AI_SYNC_READ, AI_SYNC_WRITE or both are needed",
			       arg->hdr.flags);
	if (arg->timeout_ns < 0 || (end && arg->timeout_ns))
		return ai_fail(call, -EINVAL, "timeout_ns is %lld, %s", arg->timeout_ns,
			       end ? "with AI_SYNC_END it must be 0" :
				     "it is a point in time after 0");
	region = ai_region_lookup(call, arg->la, NULL, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (!end)
		ret = ai_region_wait(call, region, arg->hdr.flags & AI_SYNC_WRITE,
				     arg->timeout_ns);
	/* What is not imported is coherent with all that is attached to it. */
	if (!ret && ai_region_origin(region) == AI_ORIGIN_DMABUF) {
		dmabuf = region->source->dmabuf;
		if (end)
			ret = dma_buf_end_cpu_access(dmabuf, ai_sync_direction(arg->hdr.flags));
		else
			ret = dma_buf_begin_cpu_access(dmabuf, ai_sync_direction(arg->hdr.flags));
		if (ret)
			ai_fail(call, ret, "%s could not prepare la 0x%llx for the CPU",
				dmabuf->exp_name, region->la);
	}
	ai_region_put(region);
	return ret;
}
