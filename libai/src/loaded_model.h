/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind a Model. */
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <ai/model.h>
#include <ai/uapi/ai.h>

namespace ai::detail {

struct LoadedModel {
    explicit LoadedModel(const Session& opened) : session(opened) {}

    static LoadedModel& of(const Model& model) { return *model.impl_; }

    Session session;
    std::string name;
    std::uint32_t handle = 0;
    std::uint32_t version = 0;
    DeviceId device{};
    ModelState state = ModelState::kCompiling;
    bool cached = false;
    Nanoseconds compile_time{0};
    std::vector<TensorInfo> inputs;
    std::vector<TensorInfo> outputs;
    /* Most bytes each output took so far; written by infer() of any thread. */
    std::unique_ptr<std::atomic<std::uint64_t>[]> output_bytes;
};

} // namespace ai::detail
