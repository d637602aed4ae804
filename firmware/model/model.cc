// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

#include <algorithm>

#include "engine_error.h"

namespace ai0::npu {

namespace {

/* More combinations of input shapes than this are forgotten and learnt again. */
constexpr std::size_t kMaxObserved = 256;

} // namespace

Model::Model(Ort::Session session) : session_(std::move(session))
{
    Ort::AllocatorWithDefaultOptions allocator;

    for (std::size_t i = 0; i < session_.GetInputCount(); i++)
        inputs_.push_back(read_spec(session_.GetInputTypeInfo(i),
                                    session_.GetInputNameAllocated(i, allocator).get(), "input"));
    for (std::size_t i = 0; i < session_.GetOutputCount(); i++)
        outputs_.push_back(read_spec(session_.GetOutputTypeInfo(i),
                                     session_.GetOutputNameAllocated(i, allocator).get(),
                                     "output"));
    for (const TensorSpec& spec : inputs_)
        input_names_.push_back(spec.name.c_str());
    for (const TensorSpec& spec : outputs_)
        output_names_.push_back(spec.name.c_str());
    /* The engine hands out what came in, and does not fill a buffer of ours with it. */
    for (const TensorSpec& output : outputs_)
        predictable_.push_back(
            std::none_of(inputs_.begin(), inputs_.end(),
                         [&](const TensorSpec& input) { return input.name == output.name; }));
    if (inputs_.size() > NPU_MAX_TENSORS || outputs_.size() > NPU_MAX_TENSORS)
        refusal_ = "the model has " + std::to_string(inputs_.size()) + " inputs and " +
                   std::to_string(outputs_.size()) + " outputs, the device takes at most " +
                   std::to_string(NPU_MAX_TENSORS) + " of each";
}

TensorSpec Model::read_spec(const Ort::TypeInfo& type, const std::string& name, const char* what)
{
    TensorSpec spec;

    spec.name = name;
    if (type.GetONNXType() != ONNX_TYPE_TENSOR) {
        refusal_ = std::string(what) + " '" + name +
                   "' of the model is no tensor (a sequence, map, optional or sparse tensor), and "
                   "the device takes tensors alone";
        return spec;
    }
    auto info = type.GetTensorTypeAndShapeInfo();
    spec.dtype = static_cast<std::uint32_t>(info.GetElementType());
    spec.has_shape = info.HasShape();
    if (spec.has_shape) {
        spec.dims = info.GetShape();
        for (const char* symbol : info.GetSymbolicDimensions())
            spec.symbols.emplace_back(symbol ? symbol : "");
    }
    if (spec.dtype != kString && !element_bytes(spec.dtype))
        refusal_ = std::string(what) + " '" + name + "' of the model has element type " +
                   std::to_string(spec.dtype) + ", which the device does not have";
    else if (spec.dims.size() > NPU_MAX_DIMS)
        refusal_ = std::string(what) + " '" + name + "' of the model has " +
                   std::to_string(spec.dims.size()) + " dimensions, the device takes at most " +
                   std::to_string(NPU_MAX_DIMS);
    return spec;
}

void Model::describe(npu_model_info& info) const
{
    npu_tensor_info* to = info.tensor;

    info.nr_inputs = static_cast<__u32>(inputs_.size());
    info.nr_outputs = static_cast<__u32>(outputs_.size());
    for (const auto* list : {&inputs_, &outputs_}) {
        for (const TensorSpec& spec : *list) {
            *to = {};
            set_message(to->name, spec.name);
            to->dtype = spec.dtype;
            to->rank = spec.has_shape ? static_cast<__u32>(spec.dims.size()) : NPU_RANK_ANY;
            for (std::size_t d = 0; d < spec.dims.size(); d++)
                to->dims[d] = spec.dims[d] < 0 ? -1 : spec.dims[d];
            to++;
        }
    }
}

std::optional<Shape> Model::resolve(const TensorSpec& output,
                                    const std::vector<Shape>& inputs) const
{
    if (!output.has_shape)
        return std::nullopt;

    Shape shape = output.dims;
    for (std::size_t d = 0; d < shape.size(); d++) {
        if (shape[d] >= 0)
            continue;
        if (d >= output.symbols.size() || output.symbols[d].empty())
            return std::nullopt;
        for (std::size_t i = 0; i < inputs_.size() && shape[d] < 0; i++) {
            const auto& symbols = inputs_[i].symbols;
            auto at = std::find(symbols.begin(), symbols.end(), output.symbols[d]);
            auto index = static_cast<std::size_t>(at - symbols.begin());
            if (at != symbols.end() && index < inputs[i].size())
                shape[d] = inputs[i][index];
        }
        if (shape[d] < 0)
            return std::nullopt;
    }
    return shape;
}

std::vector<std::optional<Shape>> Model::predict(const std::vector<Shape>& inputs) const
{
    std::vector<std::optional<Shape>> shapes(outputs_.size());
    std::lock_guard lock(mutex_);

    auto seen = observed_.find(inputs);
    for (std::size_t i = 0; i < outputs_.size(); i++) {
        if (!predictable_[i])
            continue;
        if (seen != observed_.end())
            shapes[i] = seen->second[i];
        else
            shapes[i] = resolve(outputs_[i], inputs);
    }
    return shapes;
}

void Model::observe(const std::vector<Shape>& inputs,
                    const std::vector<std::optional<Shape>>& predicted,
                    const std::vector<Shape>& outputs)
{
    std::lock_guard lock(mutex_);

    for (std::size_t i = 0; i < outputs_.size(); i++)
        if (predicted[i] && *predicted[i] != outputs[i])
            predictable_[i] = false;
    if (observed_.size() >= kMaxObserved)
        observed_.clear();
    observed_.try_emplace(inputs, outputs);
}

} // namespace ai0::npu
