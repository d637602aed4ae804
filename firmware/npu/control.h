/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control queue: address spaces, models, aborts and resets. What a unit
 * needs time for keeps its slot; the queue goes on serving others meanwhile.
 */
#pragma once

#include "job.h"
#include "ring.h"

namespace npu {

class Control {
public:
    void init(const npu_queue_config& config, Jobs& jobs);

    /* Takes commands from the queue while there are free slots. */
    void poll();

    /* What a unit was asked for is done. */
    void done(u32 slot, u32 status);

    /* A reset of the engine is done, whoever asked for it. */
    void engine_reset_done(u32 status);

    void notify() { ring_.notify(); }

private:
    struct Slot {
        bool used;
        npu_cmd cmd;
    };

    u32 free_slot() const;
    bool tag_used(u64 tag) const;
    void start(u32 slot);
    void finish(u32 slot, u32 status, u64 value = 0);

    void as_create(u32 slot);
    void mmu_wait(u32 slot, u32 op);
    void model_load(u32 slot);
    void model_unload(u32 slot);
    void abort(u32 slot);
    void engine_reset(u32 slot);
    void model_loaded(Slot& slot, u32 status);

    Ring ring_;
    Jobs* jobs_;
    Slot slots_[NPU_QUEUE_ENTRIES];
};

} // namespace npu
