/* SPDX-License-Identifier: Apache-2.0 */
/* What runs the cases of the ONNX backend suite: /dev/ai0, or in tests another. */
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ai/infer.h>
#include <ai/result.h>

#include "host_tensor.h"

namespace ai_run {

class Engine {
public:
    /* A model that is ready. */
    class Model {
    public:
        Model() = default;
        Model(const Model&) = delete;
        Model& operator=(const Model&) = delete;
        virtual ~Model() = default;

        virtual std::size_t input_count() const = 0;
        virtual std::optional<std::size_t> input_index(std::string_view name) const = 0;

        /* All outputs, in the model's order. EOPNOTSUPP: it turned out at run time. */
        virtual ai::Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs,
                                                        ai::Record& record) = 0;
    };

    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    /* EOPNOTSUPP: what the engine says it cannot run. */
    virtual ai::Result<std::unique_ptr<Model>> load(const std::string& path) = 0;
};

} // namespace ai_run
