/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job queue: checks inferences and copies, hands them to the engines, and
 * completes them.
 */
#pragma once

#include "ring.h"

namespace npu {

class Jobs {
public:
    void init(const npu_queue_config& config);

    /* Takes commands from the queue while there are free slots. */
    void poll();

    /* A slot is done. */
    void done(u32 slot, u32 status);

    /* Tells the engine to end the job with this tag. False if there is none. */
    bool abort(u64 tag);

    void notify() { ring_.notify(); }

private:
    struct Slot {
        bool used;
        npu_cmd cmd;
        u32 nr_inputs;
        u32 nr_outputs;
    };

    u32 free_slot() const;
    bool tag_used(u64 tag) const;
    void start(u32 slot);
    u32 check(const npu_cmd& cmd);
    u32 fetch_infer(u32 slot);
    void write_outputs(const Slot& slot, const npu_job_desc& desc);
    void refuse(const npu_cmd& cmd, const char* message);

    Ring ring_;
    Slot slots_[NPU_JOB_SLOTS];
};

} // namespace npu
