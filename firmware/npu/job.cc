// SPDX-License-Identifier: GPL-2.0-only
#include "job.h"

#include "log.h"
#include "text.h"

namespace npu {

namespace {

constexpr u64 kAddressEnd = 1ULL << NPU_VA_BITS;

bool range_ok(u64 va, u64 bytes)
{
    return va <= kAddressEnd && bytes <= kAddressEnd - va;
}

npu_job_desc& descriptor(u32 slot)
{
    return *reinterpret_cast<npu_job_desc*>(job_ram(slot).desc);
}

} // namespace

void Jobs::init(const npu_queue_config& config)
{
    ring_.init(NPU_QUEUE_JOB, NPU_IRQ_JOB, config);
    for (Slot& slot : slots_)
        slot.used = false;
}

u32 Jobs::free_slot() const
{
    for (u32 i = 0; i < NPU_JOB_SLOTS; i++)
        if (!slots_[i].used)
            return i;
    return NPU_JOB_SLOTS;
}

bool Jobs::tag_used(u64 tag) const
{
    for (const Slot& slot : slots_)
        if (slot.used && slot.cmd.tag == tag)
            return true;
    return false;
}

void Jobs::poll()
{
    for (;;) {
        u32 slot = free_slot();

        if (slot == NPU_JOB_SLOTS || !ring_.fetch(slots_[slot].cmd))
            return;
        start(slot);
    }
}

void Jobs::start(u32 index)
{
    Slot& slot = slots_[index];
    const npu_cmd& cmd = slot.cmd;
    u32 status = check(cmd);

    slot.nr_inputs = 0;
    slot.nr_outputs = 0;
    if (status == NPU_ST_OK && cmd.op == NPU_OP_INFER)
        status = fetch_infer(index);
    if (status != NPU_ST_OK) {
        ring_.complete(cmd, status);
        return;
    }

    npu_unit_job& job = job_ram(index);

    job.op = cmd.op;
    job.asid = cmd.asid;
    job.object = cmd.object;
    for (u32 i = 0; i < 3; i++)
        job.arg[i] = cmd.arg[i];
    slot.used = true;
    asm volatile("fence w, w" : : : "memory");
    reg_write(NPU_JOB_SLOT, index);
    reg_write(NPU_JOB_GO, NPU_JOB_OP_START);
}

u32 Jobs::check(const npu_cmd& cmd)
{
    if (!cmd.tag || tag_used(cmd.tag)) {
        log("job queue: tag ", hex(cmd.tag), " found, needed is one that is not 0 nor under way");
        return NPU_ST_BAD_COMMAND;
    }
    if (cmd.asid >= NPU_ASIDS || cmd.reserved) {
        log("job queue: address space ", cmd.asid, " and reserved field ", cmd.reserved,
            " found, needed are one below ", NPU_ASIDS, " and 0");
        return NPU_ST_BAD_COMMAND;
    }
    switch (cmd.op) {
    case NPU_OP_INFER:
        if (cmd.desc_bytes >= sizeof(npu_job_desc))
            return NPU_ST_OK;
        log("job queue: a descriptor of ", cmd.desc_bytes, " bytes found, needed are ",
            static_cast<u32>(sizeof(npu_job_desc)), " or more");
        return NPU_ST_BAD_COMMAND;
    case NPU_OP_COPY:
        if (range_ok(cmd.arg[0], cmd.arg[2]) && range_ok(cmd.arg[1], cmd.arg[2]))
            return NPU_ST_OK;
        log("job queue: a copy of ", cmd.arg[2], " bytes from ", hex(cmd.arg[1]), " to ",
            hex(cmd.arg[0]), " leaves the address space");
        return NPU_ST_BAD_COMMAND;
    default:
        log("job queue: operation ", cmd.op, " is not known");
        return NPU_ST_BAD_COMMAND;
    }
}

/* The descriptor is fetched once and checked here, so that nothing can change under the engine. */
u32 Jobs::fetch_infer(u32 index)
{
    Slot& slot = slots_[index];
    const npu_cmd& cmd = slot.cmd;
    npu_job_desc& desc = descriptor(index);

    if (!Dma::read(cmd.desc_addr, &desc, sizeof(desc))) {
        log("job queue: no memory found at ", hex(cmd.desc_addr), ", needed is a descriptor");
        return NPU_ST_BAD_COMMAND;
    }
    desc.message[0] = '\0';
    if (desc.nr_inputs > NPU_MAX_TENSORS || desc.nr_outputs > NPU_MAX_TENSORS || desc.reserved) {
        Text text(desc.message);

        text << "the descriptor names " << desc.nr_inputs << " inputs and " << desc.nr_outputs
             << " outputs, at most " << NPU_MAX_TENSORS << " of each are possible";
        refuse(cmd, desc.message);
        return NPU_ST_BAD_COMMAND;
    }

    u32 tensors = desc.nr_inputs + desc.nr_outputs;
    u32 bytes = tensors * static_cast<u32>(sizeof(npu_tensor));

    if (cmd.desc_bytes - sizeof(desc) < bytes ||
        !Dma::read(cmd.desc_addr + sizeof(desc), desc.tensor, bytes)) {
        Text text(desc.message);

        text << "the descriptor has " << cmd.desc_bytes << " bytes, its " << tensors
             << " tensors need " << static_cast<u32>(sizeof(desc)) + bytes;
        refuse(cmd, desc.message);
        return NPU_ST_BAD_COMMAND;
    }
    for (u32 i = 0; i < tensors; i++) {
        const npu_tensor& tensor = desc.tensor[i];
        bool input = i < desc.nr_inputs;

        if (range_ok(tensor.va, tensor.bytes) && (!input || tensor.rank <= NPU_MAX_DIMS))
            continue;

        Text text(desc.message);

        text << (input ? "input " : "output ") << (input ? i : i - desc.nr_inputs);
        if (input && tensor.rank > NPU_MAX_DIMS)
            text << " has " << tensor.rank << " dimensions, at most " << NPU_MAX_DIMS
                 << " are possible";
        else
            text << " leaves the address space of 48 bits";
        refuse(cmd, desc.message);
        return NPU_ST_BAD_TENSOR;
    }
    slot.nr_inputs = desc.nr_inputs;
    slot.nr_outputs = desc.nr_outputs;
    return NPU_ST_OK;
}

void Jobs::refuse(const npu_cmd& cmd, const char* message)
{
    log("job queue: tag ", hex(cmd.tag), ": ", message);
    Dma::write(cmd.desc_addr + __builtin_offsetof(npu_job_desc, message), message,
               NPU_MESSAGE_BYTES);
}

/* Of an output the device writes what it found out, never where it is. */
void Jobs::write_outputs(const Slot& slot, const npu_job_desc& desc)
{
    constexpr u32 begin = __builtin_offsetof(npu_tensor, needed);

    for (u32 i = slot.nr_inputs; i < slot.nr_inputs + slot.nr_outputs; i++)
        Dma::write(slot.cmd.desc_addr + sizeof(npu_job_desc) + i * sizeof(npu_tensor) + begin,
                   &desc.tensor[i].needed, sizeof(npu_tensor) - begin);
}

void Jobs::done(u32 index, u32 status)
{
    if (index >= NPU_JOB_SLOTS || !slots_[index].used)
        return;

    Slot& slot = slots_[index];
    const npu_unit_job& job = job_ram(index);
    npu_cpl cpl = {};

    if (slot.cmd.op == NPU_OP_INFER) {
        npu_job_desc& desc = descriptor(index);

        if (status == NPU_ST_OK || status == NPU_ST_TOO_SMALL)
            write_outputs(slot, desc);
        if (desc.message[0])
            refuse(slot.cmd, desc.message);
    }
    if (status == NPU_ST_FAULT)
        log("job ", hex(slot.cmd.tag), ": fault at ", hex(job.value), " in address space ",
            slot.cmd.asid);

    cpl.tag = slot.cmd.tag;
    cpl.op = slot.cmd.op;
    cpl.status = status;
    cpl.run_ns = job.run_ns;
    cpl.value = job.value;
    cpl.bytes_in_place = job.bytes_in_place;
    cpl.bytes_dma = job.bytes_dma;
    cpl.flags = job.flags;
    cpl.energy_uj = job.energy_uj;
    slot.used = false;
    ring_.complete(cpl);
}

bool Jobs::abort(u64 tag)
{
    /* The job may have been queued right before the command to abort it. */
    poll();
    for (u32 i = 0; i < NPU_JOB_SLOTS; i++) {
        if (!slots_[i].used || slots_[i].cmd.tag != tag)
            continue;
        log("job ", hex(tag), " is aborted");
        reg_write(NPU_JOB_SLOT, i);
        reg_write(NPU_JOB_GO, NPU_JOB_OP_ABORT);
        return true;
    }
    return false;
}

} // namespace npu
