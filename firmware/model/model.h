/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled model: the engine's session, what is known of its inputs and
 * outputs, and which shapes its outputs had.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "npu_mmio.h"
#include "tensors.h"

namespace ai0::npu {

struct TensorSpec {
    std::string name;
    std::uint32_t dtype = 0;
    bool has_shape = false;           /* without one, any rank will do */
    Shape dims;                       /* -1: free */
    std::vector<std::string> symbols; /* names of free dimensions, may be empty */
};

class Model {
public:
    explicit Model(Ort::Session session);

    /* Why the device cannot serve it though the engine can; empty if it can. */
    const std::string& refusal() const { return refusal_; }

    Ort::Session& session() { return session_; }
    const std::vector<TensorSpec>& inputs() const { return inputs_; }
    const std::vector<TensorSpec>& outputs() const { return outputs_; }
    const std::vector<const char*>& input_names() const { return input_names_; }
    const std::vector<const char*>& output_names() const { return output_names_; }

    void describe(npu_model_info& info) const;

    /*
     * Shapes the outputs will have for inputs of these shapes, each if it can be
     * told: it is fixed, follows from the inputs by the names of dimensions, or
     * was seen before. A guess, to be checked when the model has run.
     */
    std::vector<std::optional<Shape>> predict(const std::vector<Shape>& inputs) const;

    /* What was seen. Of an output for which the guess was wrong, none is made again. */
    void observe(const std::vector<Shape>& inputs,
                 const std::vector<std::optional<Shape>>& predicted,
                 const std::vector<Shape>& outputs);

private:
    TensorSpec read_spec(const Ort::TypeInfo& type, const std::string& name, const char* what);
    std::optional<Shape> resolve(const TensorSpec& output, const std::vector<Shape>& inputs) const;

    Ort::Session session_;
    std::string refusal_;
    std::vector<TensorSpec> inputs_, outputs_;
    std::vector<const char*> input_names_, output_names_;

    mutable std::mutex mutex_;
    std::map<std::vector<Shape>, std::vector<Shape>> observed_;
    std::vector<bool> predictable_; /* by output */
};

} // namespace ai0::npu
