/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs inferences through a Host as a driver would.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host.h"
#include "onnx_case.h"

namespace ai0::test {

struct JobOptions {
    std::uint64_t misalign = 0;      /* bytes that tensors are moved off their alignment */
    std::vector<std::uint64_t> room; /* of the outputs; 1 MiB each if not given */
    std::uint64_t output_flags = NPU_PTE_READ | NPU_PTE_WRITE;
    std::uint64_t input_flags = NPU_PTE_READ;
    bool scattered = false;     /* every page somewhere else */
    bool device_memory = false; /* tensors in the device's own memory */
};

/* Memory and descriptor of a job, kept for as long as it may run. */
class JobBuffers {
public:
    JobBuffers(Host& host, const Host::Space& space, const std::vector<Tensor>& inputs,
               std::size_t outputs, JobOptions options = {});

    npu_cmd command(std::uint64_t model) const;
    npu_job_desc& desc() { return *desc_; }
    npu_tensor& input(std::size_t i) { return desc_->tensor[i]; }
    npu_tensor& output(std::size_t i) { return desc_->tensor[nr_inputs_ + i]; }
    std::string message() const { return desc_->message; }
    Tensor result(std::size_t i);
    /* Reads and writes through the page table, like the application. */
    std::byte* host_byte(std::uint64_t va);

private:
    std::uint64_t place(std::uint64_t bytes, std::uint64_t flags, const JobOptions& options);

    Host& host_;
    Host::Space space_;
    std::uint64_t desc_address_;
    std::uint32_t desc_bytes_;
    npu_job_desc* desc_;
    std::size_t nr_inputs_;
};

struct Ran {
    npu_cpl cpl;
    std::string message;
    std::vector<Tensor> outputs;
    std::vector<npu_tensor> described;
};

Ran run(Host& host, const Host::Space& space, std::uint64_t model,
        const std::vector<Tensor>& inputs, std::size_t outputs, JobOptions options = {});

} // namespace ai0::test
