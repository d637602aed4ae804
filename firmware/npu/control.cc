// SPDX-License-Identifier: GPL-2.0-only
#include "control.h"

#include "log.h"

namespace npu {

namespace {

constexpr u64 kAddressEnd = 1ULL << NPU_VA_BITS;
/* A protocol buffer's length is a signed 32-bit number. */
constexpr u64 kModelBytes = 0x7fffffff;

} // namespace

void Control::init(const npu_queue_config& config, Jobs& jobs)
{
    ring_.init(NPU_QUEUE_CTRL, NPU_IRQ_CTRL, config);
    jobs_ = &jobs;
    for (Slot& slot : slots_)
        slot.used = false;
}

u32 Control::free_slot() const
{
    for (u32 i = 0; i < NPU_QUEUE_ENTRIES; i++)
        if (!slots_[i].used)
            return i;
    return NPU_QUEUE_ENTRIES;
}

bool Control::tag_used(u64 tag) const
{
    for (const Slot& slot : slots_)
        if (slot.used && slot.cmd.tag == tag)
            return true;
    return false;
}

void Control::finish(u32 index, u32 status, u64 value)
{
    slots_[index].used = false;
    ring_.complete(slots_[index].cmd, status, value);
}

void Control::poll()
{
    for (;;) {
        u32 slot = free_slot();

        if (slot == NPU_QUEUE_ENTRIES || !ring_.fetch(slots_[slot].cmd))
            return;
        start(slot);
    }
}

void Control::start(u32 index)
{
    const npu_cmd& cmd = slots_[index].cmd;

    if (!cmd.tag || tag_used(cmd.tag) || cmd.asid >= NPU_ASIDS || cmd.reserved) {
        log("control queue: operation ", cmd.op, " has tag ", hex(cmd.tag), ", address space ",
            cmd.asid, " and reserved field ", cmd.reserved, ", which cannot be");
        finish(index, NPU_ST_BAD_COMMAND);
        return;
    }
    slots_[index].used = true;

    switch (cmd.op) {
    case NPU_OP_PING:
        finish(index, NPU_ST_OK, cmd.arg[0]);
        break;
    case NPU_OP_AS_CREATE:
        as_create(index);
        break;
    case NPU_OP_AS_DESTROY:
        mmu_wait(index, NPU_MMU_OP_DESTROY);
        break;
    case NPU_OP_TLB_INVALIDATE:
        mmu_wait(index, NPU_MMU_OP_INVALIDATE);
        break;
    case NPU_OP_MODEL_LOAD:
        model_load(index);
        break;
    case NPU_OP_MODEL_UNLOAD:
        model_unload(index);
        break;
    case NPU_OP_ABORT:
        abort(index);
        break;
    case NPU_OP_ENGINE_RESET:
        engine_reset(index);
        break;
    default:
        log("control queue: operation ", cmd.op, " is not known");
        finish(index, NPU_ST_BAD_COMMAND);
    }
}

void Control::as_create(u32 index)
{
    const npu_cmd& cmd = slots_[index].cmd;

    if (cmd.arg[0] & 4095) {
        log("control queue: root table at ", hex(cmd.arg[0]), ", needed is a multiple of 4096");
        finish(index, NPU_ST_BAD_COMMAND);
        return;
    }
    reg_write(NPU_MMU_ASID, cmd.asid);
    reg_write_pair(NPU_MMU_ARG0_LO, cmd.arg[0]);
    reg_write(NPU_MMU_SLOT, index);
    reg_write(NPU_MMU_GO, NPU_MMU_OP_CREATE);
    finish(index, reg_read(NPU_MMU_STATUS));
}

void Control::mmu_wait(u32 index, u32 op)
{
    const npu_cmd& cmd = slots_[index].cmd;

    if (op == NPU_MMU_OP_INVALIDATE &&
        (cmd.arg[0] > kAddressEnd || cmd.arg[1] > kAddressEnd - cmd.arg[0])) {
        log("control queue: ", cmd.arg[1], " bytes at ", hex(cmd.arg[0]),
            " leave the address space");
        finish(index, NPU_ST_BAD_COMMAND);
        return;
    }
    reg_write(NPU_MMU_ASID, cmd.asid);
    reg_write_pair(NPU_MMU_ARG0_LO, cmd.arg[0]);
    reg_write_pair(NPU_MMU_ARG1_LO, cmd.arg[1]);
    reg_write(NPU_MMU_SLOT, index);
    reg_write(NPU_MMU_GO, op);

    u32 status = reg_read(NPU_MMU_STATUS);

    if (status != NPU_ST_OK)
        finish(index, status);
}

void Control::model_load(u32 index)
{
    const npu_cmd& cmd = slots_[index].cmd;
    constexpr u32 least = __builtin_offsetof(npu_model_info, tensor);

    if (!cmd.arg[1] || cmd.arg[1] > kModelBytes || cmd.arg[0] > kAddressEnd ||
        cmd.arg[1] > kAddressEnd - cmd.arg[0]) {
        log("control queue: a model of ", cmd.arg[1], " bytes at ", hex(cmd.arg[0]),
            ", needed are 1 to ", kModelBytes, " bytes inside the address space");
        finish(index, NPU_ST_BAD_COMMAND);
        return;
    }
    if (cmd.desc_bytes < least || !Dma::check(cmd.desc_addr, cmd.desc_bytes)) {
        log("control queue: room of ", cmd.desc_bytes, " bytes at ", hex(cmd.desc_addr),
            " for what is known of a model, needed are ", least, " or more in memory");
        finish(index, NPU_ST_BAD_COMMAND);
        return;
    }
    reg_write(NPU_COMPILE_SLOT, index);
    reg_write_pair(NPU_COMPILE_MODEL_LO, cmd.object);
    reg_write_pair(NPU_COMPILE_ADDR_LO, cmd.arg[0]);
    reg_write(NPU_COMPILE_BYTES, static_cast<u32>(cmd.arg[1]));
    reg_write(NPU_COMPILE_GO, NPU_COMPILE_OP_LOAD);
}

void Control::model_unload(u32 index)
{
    reg_write(NPU_COMPILE_SLOT, index);
    reg_write_pair(NPU_COMPILE_MODEL_LO, slots_[index].cmd.object);
    reg_write(NPU_COMPILE_GO, NPU_COMPILE_OP_UNLOAD);
}

void Control::abort(u32 index)
{
    bool found = jobs_->abort(slots_[index].cmd.object);

    finish(index, found ? NPU_ST_OK : NPU_ST_NOT_FOUND);
}

void Control::engine_reset(u32)
{
    log("the tensor engine is reset");
    reg_write(NPU_JOB_GO, NPU_JOB_OP_ENGINE_RESET);
}

/* Commands that came while a reset was under way end with the same one. */
void Control::engine_reset_done(u32 status)
{
    if (status != NPU_ST_OK)
        log("the tensor engine did not answer its reset");
    for (u32 i = 0; i < NPU_QUEUE_ENTRIES; i++)
        if (slots_[i].used && slots_[i].cmd.op == NPU_OP_ENGINE_RESET)
            finish(i, status);
}

/* The message and the numbers always, of the tensors what there is and what fits. */
void Control::model_loaded(Slot& slot, u32 status)
{
    const npu_unit_info& unit = info_ram(static_cast<u32>(&slot - slots_));
    const npu_model_info& info = unit.info;
    npu_cpl cpl = {};
    u32 bytes = static_cast<u32>(__builtin_offsetof(npu_model_info, tensor) +
                                 (info.nr_inputs + info.nr_outputs) * sizeof(npu_tensor_info));

    if (bytes > slot.cmd.desc_bytes)
        bytes = slot.cmd.desc_bytes;
    Dma::write(slot.cmd.desc_addr, &info, bytes);
    if (status != NPU_ST_OK)
        log("model ", hex(slot.cmd.object), ": ", info.message);
    else
        log("model ", hex(slot.cmd.object), " is ready, compiled in ", info.compile_ns / 1000000,
            " ms", unit.flags & NPU_CPL_CACHED ? ", from the cache" : "");

    cpl.tag = slot.cmd.tag;
    cpl.op = slot.cmd.op;
    cpl.status = status;
    cpl.run_ns = unit.run_ns;
    cpl.value = unit.value;
    cpl.flags = unit.flags;
    slot.used = false;
    ring_.complete(cpl);
}

void Control::done(u32 index, u32 status)
{
    if (index >= NPU_QUEUE_ENTRIES || !slots_[index].used)
        return;
    if (slots_[index].cmd.op == NPU_OP_MODEL_LOAD)
        model_loaded(slots_[index], status);
    else
        finish(index, status);
}

} // namespace npu
