// SPDX-License-Identifier: GPL-2.0-only
#include "ring.h"

#include "log.h"

namespace npu {

namespace {

constexpr u32 kMask = NPU_QUEUE_ENTRIES - 1;

} // namespace

void Ring::init(u32 number, u32 vector, const npu_queue_config& config)
{
    number_ = number;
    vector_ = vector;
    config_ = config;
    cmd_head_ = 0;
    cpl_tail_ = 0;
    unreported_ = false;
    bad_index_ = false;
}

void Ring::report_index(u32 tail)
{
    if (bad_index_)
        return;
    bad_index_ = true;
    log("queue ", number_, ": command index ", tail, " found, at most ",
        cmd_head_ + NPU_QUEUE_ENTRIES, " can be; commands are ignored until it is right");
}

bool Ring::fetch(npu_cmd& cmd)
{
    u32 tail;

    if (!Dma::read(config_.index_addr + __builtin_offsetof(npu_ring_index, cmd_tail), &tail,
                   sizeof(tail)))
        return false;
    if (tail == cmd_head_)
        return false;
    if (tail - cmd_head_ > NPU_QUEUE_ENTRIES) {
        report_index(tail);
        return false;
    }
    bad_index_ = false;
    if (!Dma::read(config_.cmd_addr + (cmd_head_ & kMask) * sizeof(npu_cmd), &cmd, sizeof(cmd)))
        return false;
    cmd_head_++;
    Dma::write(config_.index_addr + __builtin_offsetof(npu_ring_index, cmd_head), &cmd_head_,
               sizeof(cmd_head_));
    return true;
}

void Ring::complete(const npu_cpl& cpl)
{
    Dma::write(config_.cpl_addr + (cpl_tail_ & kMask) * sizeof(npu_cpl), &cpl, sizeof(cpl));
    cpl_tail_++;
    Dma::write(config_.index_addr + __builtin_offsetof(npu_ring_index, cpl_tail), &cpl_tail_,
               sizeof(cpl_tail_));
    unreported_ = true;
}

void Ring::complete(const npu_cmd& cmd, u32 status, u64 value)
{
    npu_cpl cpl = {};

    cpl.tag = cmd.tag;
    cpl.op = cmd.op;
    cpl.status = status;
    cpl.value = value;
    complete(cpl);
}

void Ring::notify()
{
    if (!unreported_)
        return;
    unreported_ = false;
    irq_raise(vector_);
}

} // namespace npu
