/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One job in an engine, and how an inference is carried out on pages in place.
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "board.h"
#include "mmu.h"
#include "model.h"
#include "npu_mmio.h"

namespace ai0::npu {

/* Why a job is to end early; a higher one is not replaced by a lower one. */
enum class Stop : std::uint32_t { kNo = 0, kAbort = 1, kReset = 2 };

struct Job {
    std::uint32_t slot = 0;
    std::uint32_t op = 0;
    std::uint32_t asid = 0;
    std::shared_ptr<Model> model;
    Ort::RunOptions run_options{nullptr}; /* while it is in the engine */

    std::mutex mutex; /* run_options against the engine's start and end */
    std::condition_variable stopped;
    std::atomic<Stop> stop{Stop::kNo};

    /* What came of it. */
    npu_status status = NPU_ST_OK;
    std::string sentence;
    std::uint64_t value = 0;
    std::uint64_t run_ns = 0;
    std::uint64_t bytes_in_place = 0;
    std::uint64_t bytes_dma = 0;
    std::uint32_t flags = 0;
    std::uint32_t energy_uj = 0;

    void fail(npu_status why, std::string text = {})
    {
        status = why;
        sentence = std::move(text);
    }
};

class Inference {
public:
    /* @desc belongs to the device: the guest cannot change it. */
    Inference(Job& job, npu_job_desc& desc, Mmu& mmu);

    /* Result in the job and, for outputs, in the descriptor. */
    void run();

private:
    /* A tensor of the call: pages in place, or engine memory. */
    struct Slot {
        Ort::Value value{nullptr};
        Mmu::Pin pin;
        std::vector<std::byte> memory;
        bool in_place = false;
    };

    npu_tensor& output_tensor(std::size_t i) { return desc_.tensor[desc_.nr_inputs + i]; }

    bool check_input(std::size_t i);
    bool bind_input(std::size_t i);
    bool bind_strings(std::size_t i);
    bool bind_outputs();
    bool bind_output(std::size_t i, const Shape& shape);
    bool execute();
    bool call(bool& shape_mismatch);
    bool collect();
    bool learn(std::size_t i, std::vector<std::byte>& packed);
    bool store(std::size_t i, const std::vector<std::byte>& packed);
    bool overlaps_input(const npu_tensor& output, std::uint64_t bytes) const;
    bool memory_fault(const Mmu::Result& result);
    bool bad_tensor(std::string sentence);
    std::string input_name(std::size_t i) const;
    Ort::Value tensor_over(std::byte* data, std::uint64_t bytes, const Shape& shape,
                           std::uint32_t dtype);

    Job& job_;
    npu_job_desc& desc_;
    Mmu& mmu_;
    Model& model_;
    std::vector<Shape> input_shapes_;
    std::vector<Slot> inputs_, outputs_;
    std::vector<std::optional<Shape>> predicted_;
    std::vector<Shape> output_shapes_;
};

} // namespace ai0::npu
