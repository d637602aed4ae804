/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One queue pair in system memory: commands in, completions out.
 */
#pragma once

#include "dma.h"

namespace npu {

class Ring {
public:
    void init(u32 number, u32 vector, const npu_queue_config& config);

    /* Takes the next command. False when there is none, or none that can be reached. */
    bool fetch(npu_cmd& cmd);

    /* Writes a completion; notify() tells the driver. */
    void complete(const npu_cpl& cpl);
    void complete(const npu_cmd& cmd, u32 status, u64 value = 0);

    /* One interrupt for all completions since the last call. */
    void notify();

private:
    void report_index(u32 tail);

    u32 number_;
    u32 vector_;
    npu_queue_config config_;
    u32 cmd_head_;
    u32 cpl_tail_;
    bool unreported_;
    bool bad_index_;
};

} // namespace npu
