/* SPDX-License-Identifier: Apache-2.0 */
#include "ort_engine.h"

#include <algorithm>
#include <cerrno>

namespace {

using ai_run::HostTensor;

ONNXTensorElementDataType to_ort(ai::DType dtype)
{
    /* Both count as ONNX does. */
    return static_cast<ONNXTensorElementDataType>(dtype);
}

Ort::Value to_ort(HostTensor& tensor, const Ort::MemoryInfo& memory)
{
    std::vector<std::int64_t> dims(tensor.shape.begin(), tensor.shape.end());

    if (tensor.dtype != ai::DType::kString)
        return Ort::Value::CreateTensor(memory, tensor.data.data(), tensor.data.size(), dims.data(),
                                        dims.size(), to_ort(tensor.dtype));
    Ort::AllocatorWithDefaultOptions allocator;
    Ort::Value value =
        Ort::Value::CreateTensor(allocator, dims.data(), dims.size(), to_ort(tensor.dtype));
    auto strings = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0)).or_throw();
    for (std::size_t i = 0; i < strings.size(); i++)
        value.FillStringTensorElement(std::string(strings[i]).c_str(), i);
    return value;
}

HostTensor from_ort(const Ort::Value& value)
{
    auto info = value.GetTensorTypeAndShapeInfo();
    std::vector<std::int64_t> dims = info.GetShape();
    HostTensor tensor;

    tensor.dtype = static_cast<ai::DType>(info.GetElementType());
    tensor.shape = ai::Shape::from(dims).or_throw();
    if (tensor.dtype == ai::DType::kString) {
        std::vector<std::string> strings;
        for (std::size_t i = 0; i < info.GetElementCount(); i++)
            strings.push_back(value.GetStringTensorElement(i));
        tensor.data = ai::pack_strings(strings);
        return tensor;
    }
    const auto* data = static_cast<const std::byte*>(value.GetTensorRawData());
    std::size_t bytes = info.GetElementCount() * ai::element_bytes(tensor.dtype);
    tensor.data.assign(data, data + bytes);
    return tensor;
}

class HostModel final : public ai_run::Engine::Model {
public:
    explicit HostModel(Ort::Session session) : session_(std::move(session))
    {
        Ort::AllocatorWithDefaultOptions allocator;

        for (std::size_t i = 0; i < session_.GetInputCount(); i++)
            inputs_.emplace_back(session_.GetInputNameAllocated(i, allocator).get());
        for (std::size_t i = 0; i < session_.GetOutputCount(); i++)
            outputs_.emplace_back(session_.GetOutputNameAllocated(i, allocator).get());
    }

    std::size_t input_count() const override { return inputs_.size(); }

    std::optional<std::size_t> input_index(std::string_view name) const override
    {
        auto found = std::ranges::find(inputs_, name);

        if (found == inputs_.end())
            return std::nullopt;
        return static_cast<std::size_t>(found - inputs_.begin());
    }

    ai::Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs,
                                            ai::Record& /*record*/) override
    try {
        auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
        std::vector<HostTensor> kept(inputs.begin(), inputs.end());
        std::vector<Ort::Value> in;
        std::vector<const char*> in_names;
        std::vector<const char*> out_names;
        std::vector<HostTensor> outputs;

        for (std::size_t i = 0; i < kept.size(); i++) {
            in.push_back(to_ort(kept[i], memory));
            in_names.push_back(inputs_[i].c_str());
        }
        out_names.reserve(outputs_.size());
        for (const std::string& name : outputs_)
            out_names.push_back(name.c_str());
        auto out = session_.Run(Ort::RunOptions(), in_names.data(), in.data(), in.size(),
                                out_names.data(), out_names.size());
        outputs.reserve(out.size());
        for (const Ort::Value& value : out)
            outputs.push_back(from_ort(value));
        return outputs;
    } catch (const Ort::Exception& error) {
        return ai::Error{EOPNOTSUPP, error.what()};
    }

private:
    Ort::Session session_;
    std::vector<std::string> inputs_;
    std::vector<std::string> outputs_;
};

} // namespace

OrtEngine::OrtEngine() : env_(ORT_LOGGING_LEVEL_FATAL, "ort-cases") {}

ai::Result<std::unique_ptr<ai_run::Engine::Model>> OrtEngine::load(const std::string& path)
try {
    Ort::SessionOptions options;

    options.SetIntraOpNumThreads(1);
    return std::unique_ptr<Model>(
        std::make_unique<HostModel>(Ort::Session(env_, path.c_str(), options)));
} catch (const Ort::Exception& error) {
    return ai::Error{EOPNOTSUPP, error.what()};
}
