// SPDX-License-Identifier: GPL-2.0-only
#include "runner.h"

#include <cstring>

namespace ai0::test {

namespace {

constexpr std::uint64_t kPage = 4096;

/* Device addresses are never used twice in one process, so tests cannot disturb each other. */
std::uint64_t next_va = 0x100000000000;
std::uint64_t next_device_offset = 0;

} // namespace

std::uint64_t JobBuffers::place(std::uint64_t bytes, std::uint64_t flags, const JobOptions& options)
{
    if (!bytes)
        return 0;
    std::uint64_t span = (bytes + options.misalign + kPage - 1) / kPage * kPage;
    std::uint64_t va = next_va;

    next_va += span + kPage;
    if (options.device_memory) {
        if (next_device_offset + span > host_.regs().mem_bytes)
            next_device_offset = 0;
        host_.map(space_, va, next_device_offset, span, flags | NPU_PTE_DEVICE);
        next_device_offset += span;
    } else if (options.scattered) {
        for (std::uint64_t at = 0; at < span; at += kPage) {
            host_.alloc(kPage);
            host_.map(space_, va + at, host_.alloc(kPage), kPage, flags);
        }
    } else {
        host_.map(space_, va, host_.alloc(span), span, flags);
    }
    return va + options.misalign;
}

std::byte* JobBuffers::host_byte(std::uint64_t va)
{
    std::uint64_t table = space_.root;

    for (unsigned level = 3;; level--) {
        std::uint64_t entry = host_.at<std::uint64_t>(table)[(va >> (12 + 9 * level)) % 512];
        table = entry & NPU_PTE_ADDR;
        if (level)
            continue;
        if (entry & NPU_PTE_DEVICE)
            return host_.bar2().data() + host_.regs().mem_offset + table + va % kPage;
        return host_.memory(table) + va % kPage;
    }
}

JobBuffers::JobBuffers(Host& host, const Host::Space& space, const std::vector<Tensor>& inputs,
                       std::size_t outputs, JobOptions options)
    : host_(host), space_(space), nr_inputs_(inputs.size())
{
    std::size_t tensors = inputs.size() + outputs;

    desc_bytes_ = static_cast<std::uint32_t>(sizeof(npu_job_desc) + tensors * sizeof(npu_tensor));
    desc_address_ = host.alloc(desc_bytes_);
    desc_ = host.at<npu_job_desc>(desc_address_);
    desc_->nr_inputs = static_cast<__u32>(inputs.size());
    desc_->nr_outputs = static_cast<__u32>(outputs);
    for (std::size_t i = 0; i < inputs.size(); i++) {
        npu_tensor& to = input(i);
        to.va = place(inputs[i].data.size(), options.input_flags, options);
        to.bytes = inputs[i].data.size();
        to.dtype = inputs[i].dtype;
        to.rank = static_cast<__u32>(inputs[i].shape.size());
        for (std::size_t d = 0; d < inputs[i].shape.size() && d < NPU_MAX_DIMS; d++)
            to.dims[d] = static_cast<__u64>(inputs[i].shape[d]);
        for (std::size_t at = 0; at < to.bytes;) {
            std::size_t n = std::min<std::size_t>(to.bytes - at, kPage - (to.va + at) % kPage);
            std::memcpy(host_byte(to.va + at), inputs[i].data.data() + at, n);
            at += n;
        }
    }
    for (std::size_t i = 0; i < outputs; i++) {
        output(i).bytes = i < options.room.size() ? options.room[i] : 1 << 20;
        output(i).va = place(output(i).bytes, options.output_flags, options);
    }
}

npu_cmd JobBuffers::command(std::uint64_t model) const
{
    npu_cmd cmd{};

    cmd.op = NPU_OP_INFER;
    cmd.asid = space_.asid;
    cmd.object = model;
    cmd.desc_addr = desc_address_;
    cmd.desc_bytes = desc_bytes_;
    return cmd;
}

Tensor JobBuffers::result(std::size_t i)
{
    const npu_tensor& from = output(i);
    Tensor tensor;

    tensor.dtype = from.dtype;
    for (std::size_t d = 0; d < from.rank; d++)
        tensor.shape.push_back(static_cast<std::int64_t>(from.dims[d]));
    tensor.data.resize(from.needed);
    for (std::size_t at = 0; at < from.needed;) {
        std::size_t n = std::min<std::size_t>(from.needed - at, kPage - (from.va + at) % kPage);
        std::memcpy(tensor.data.data() + at, host_byte(from.va + at), n);
        at += n;
    }
    return tensor;
}

Ran run(Host& host, const Host::Space& space, std::uint64_t model,
        const std::vector<Tensor>& inputs, std::size_t outputs, JobOptions options)
{
    JobBuffers buffers(host, space, inputs, outputs, std::move(options));
    Ran ran;

    ran.cpl = host.call(NPU_QUEUE_JOB, buffers.command(model));
    ran.message = buffers.message();
    for (std::size_t i = 0; i < outputs; i++) {
        ran.described.push_back(buffers.output(i));
        if (ran.cpl.status == NPU_ST_OK)
            ran.outputs.push_back(buffers.result(i));
    }
    return ran;
}

} // namespace ai0::test
