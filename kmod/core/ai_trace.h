/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events. Documented in Documentation/trace.md.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ai

#if !defined(AI_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AI_TRACE_H

#include <linux/tracepoint.h>

#include "ai_internal.h"

DECLARE_EVENT_CLASS(ai_region_class,
		    TP_PROTO(struct ai_region *region),
		    TP_ARGS(region),
		    TP_STRUCT__entry(
			    __field(u64, la)
			    __field(u64, bytes)
			    __field(u64, owner)
			    __field(u32, device)
			    __field(u32, perm)
			    __field(u32, pieces)
		    ),
		    TP_fast_assign(
			    __entry->la = region->la;
			    __entry->bytes = region->nr_pages << PAGE_SHIFT;
			    __entry->owner = region->owner;
			    __entry->device = AI_LA_DEVICE(region->la);
			    __entry->perm = region->perm;
			    __entry->pieces = region->nr_chunks;
		    ),
		    TP_printk("la=0x%llx bytes=%llu device=%u perm=%u file=%llu pieces=%u",
			      __entry->la, __entry->bytes, __entry->device, __entry->perm,
			      __entry->owner, __entry->pieces)
);

DEFINE_EVENT(ai_region_class, ai_alloc,
	     TP_PROTO(struct ai_region *region),
	     TP_ARGS(region)
);

DEFINE_EVENT(ai_region_class, ai_free,
	     TP_PROTO(struct ai_region *region),
	     TP_ARGS(region)
);

TRACE_EVENT(ai_map,
	    TP_PROTO(struct ai_region *region, unsigned long address, u64 bytes),
	    TP_ARGS(region, address, bytes),
	    TP_STRUCT__entry(
		    __field(u64, la)
		    __field(u64, owner)
		    __field(unsigned long, address)
		    __field(u64, bytes)
	    ),
	    TP_fast_assign(
		    __entry->la = region->la;
		    __entry->owner = region->owner;
		    __entry->address = address;
		    __entry->bytes = bytes;
	    ),
	    TP_printk("la=0x%llx file=%llu address=0x%lx bytes=%llu",
		      __entry->la, __entry->owner, __entry->address, __entry->bytes)
);

DECLARE_EVENT_CLASS(ai_job_class,
		    TP_PROTO(struct ai_job *job),
		    TP_ARGS(job),
		    TP_STRUCT__entry(
			    __string(device, dev_name(&job->adev->dev))
			    __field(u64, job)
			    __field(u64, file)
			    __field(u64, cookie)
			    __field(u64, model)
			    __field(u32, priority)
			    __field(s64, deadline_ns)
		    ),
		    TP_fast_assign(
			    __assign_str(device);
			    __entry->job = job->id;
			    __entry->file = job->file_id;
			    __entry->cookie = job->cookie;
			    __entry->model = job->model->id;
			    __entry->priority = job->priority;
			    __entry->deadline_ns = job->deadline_ns;
		    ),
		    TP_printk("device=%s job=%llu file=%llu cookie=0x%llx model=%llu priority=%u deadline_ns=%lld",
			      __get_str(device), __entry->job, __entry->file, __entry->cookie,
			      __entry->model, __entry->priority, __entry->deadline_ns)
);

DEFINE_EVENT(ai_job_class, ai_submit,
	     TP_PROTO(struct ai_job *job),
	     TP_ARGS(job)
);

DEFINE_EVENT(ai_job_class, ai_start,
	     TP_PROTO(struct ai_job *job),
	     TP_ARGS(job)
);

TRACE_EVENT(ai_done,
	    TP_PROTO(struct ai_job *job),
	    TP_ARGS(job),
	    TP_STRUCT__entry(
		    __string(device, dev_name(&job->adev->dev))
		    __field(u64, job)
		    __field(u64, cookie)
		    __field(int, error)
		    __field(u64, queue_ns)
		    __field(u64, run_ns)
		    __field(u64, bytes_cpu)
	    ),
	    TP_fast_assign(
		    __assign_str(device);
		    __entry->job = job->id;
		    __entry->cookie = job->cookie;
		    __entry->error = job->result.error;
		    __entry->queue_ns = ktime_to_ns(ktime_sub(job->started ?: job->ended,
							      job->submitted));
		    __entry->run_ns = job->started ?
				      ktime_to_ns(ktime_sub(job->ended, job->started)) : 0;
		    __entry->bytes_cpu = job->result.bytes_cpu;
	    ),
	    TP_printk("device=%s job=%llu cookie=0x%llx error=%d queue_ns=%llu run_ns=%llu bytes_cpu=%llu",
		      __get_str(device), __entry->job, __entry->cookie, __entry->error,
		      __entry->queue_ns, __entry->run_ns, __entry->bytes_cpu)
);

TRACE_EVENT(ai_fault,
	    TP_PROTO(struct ai_job *job),
	    TP_ARGS(job),
	    TP_STRUCT__entry(
		    __string(device, dev_name(&job->adev->dev))
		    __field(u64, job)
		    __field(u64, va)
		    __field(u64, la)
	    ),
	    TP_fast_assign(
		    __assign_str(device);
		    __entry->job = job->id;
		    __entry->va = job->result.fault_va;
		    __entry->la = ai_va_to_la(job->result.fault_va);
	    ),
	    TP_printk("device=%s job=%llu va=0x%llx la=0x%llx",
		      __get_str(device), __entry->job, __entry->va, __entry->la)
);

#endif /* AI_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ai_trace
#include <trace/define_trace.h>
