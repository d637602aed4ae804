// SPDX-License-Identifier: GPL-2.0-only
#include "inference.h"

#include <algorithm>

#include "engine_error.h"

namespace ai0::npu {

namespace {

/* Tensors without elements need an address too; nothing is read or written there. */
alignas(64) std::byte no_elements[64];

const Ort::MemoryInfo& cpu_memory()
{
    static const Ort::MemoryInfo info =
        Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    return info;
}

} // namespace

Inference::Inference(Job& job, npu_job_desc& desc, Mmu& mmu)
    : job_(job), desc_(desc), mmu_(mmu), model_(*job.model)
{
}

bool Inference::bad_tensor(std::string sentence)
{
    job_.fail(NPU_ST_BAD_TENSOR, std::move(sentence));
    return false;
}

bool Inference::memory_fault(const Mmu::Result& result)
{
    if (result.kind == Mmu::Result::kNoSpace) {
        job_.fail(NPU_ST_NOT_FOUND,
                  "address space " + std::to_string(job_.asid) + " does not exist");
        return false;
    }
    job_.fail(NPU_ST_FAULT, "the engine could not reach an address it was given");
    job_.value = raw(result.address);
    return false;
}

std::string Inference::input_name(std::size_t i) const
{
    return "input " + std::to_string(i) + " '" + model_.inputs()[i].name + "'";
}

Ort::Value Inference::tensor_over(std::byte* data, std::uint64_t bytes, const Shape& shape,
                                  std::uint32_t dtype)
{
    return Ort::Value::CreateTensor(cpu_memory(), bytes ? data : no_elements, bytes, shape.data(),
                                    shape.size(), static_cast<ONNXTensorElementDataType>(dtype));
}

void Inference::run()
{
    std::size_t nr_inputs = model_.inputs().size(), nr_outputs = model_.outputs().size();

    if (desc_.nr_inputs != nr_inputs || desc_.nr_outputs != nr_outputs) {
        bad_tensor("the call has " + std::to_string(desc_.nr_inputs) + " inputs and " +
                   std::to_string(desc_.nr_outputs) + " outputs, the model needs " +
                   std::to_string(nr_inputs) + " and " + std::to_string(nr_outputs));
        return;
    }
    inputs_.resize(nr_inputs);
    outputs_.resize(nr_outputs);
    output_shapes_.resize(nr_outputs);
    for (std::size_t i = 0; i < nr_inputs; i++)
        if (!check_input(i) || !bind_input(i))
            return;
    if (bind_outputs() && execute())
        collect();
}

/* ---- inputs ---- */

bool Inference::check_input(std::size_t i)
{
    const npu_tensor& tensor = desc_.tensor[i];
    const TensorSpec& spec = model_.inputs()[i];
    Shape shape;

    if (tensor.dtype != spec.dtype)
        return bad_tensor(input_name(i) + " has element type " + dtype_name(tensor.dtype) + " (" +
                          std::to_string(tensor.dtype) + "), needed is " + dtype_name(spec.dtype) +
                          " (" + std::to_string(spec.dtype) + ")");
    for (std::size_t d = 0; d < tensor.rank; d++) {
        if (tensor.dims[d] > INT64_MAX)
            return bad_tensor(input_name(i) + " has a dimension of " +
                              std::to_string(tensor.dims[d]) + ", which no memory can hold");
        shape.push_back(static_cast<std::int64_t>(tensor.dims[d]));
    }
    bool fits = !spec.has_shape || shape.size() == spec.dims.size();
    for (std::size_t d = 0; fits && spec.has_shape && d < shape.size(); d++)
        fits = spec.dims[d] < 0 || spec.dims[d] == shape[d];
    if (!fits)
        return bad_tensor(input_name(i) + " has shape " + shape_text(shape) + ", needed is " +
                          shape_text(spec.dims));

    std::optional<std::uint64_t> count = element_count(shape);
    std::optional<std::uint64_t> bytes = tensor_bytes(shape, spec.dtype);
    if (!count || !bytes)
        return bad_tensor(input_name(i) + " has shape " + shape_text(shape) +
                          ", which no memory can hold");
    if (spec.dtype != kString && *bytes != tensor.bytes)
        return bad_tensor(input_name(i) + " has " + std::to_string(tensor.bytes) +
                          " bytes, its shape " + shape_text(shape) + " of " +
                          dtype_name(spec.dtype) + " needs " + std::to_string(*bytes));
    if (spec.dtype == kString && *count >= tensor.bytes / sizeof(std::uint64_t))
        return bad_tensor(input_name(i) + " has " + std::to_string(tensor.bytes) +
                          " bytes, needed is room for a table of offsets for " +
                          std::to_string(*count) + " strings");
    input_shapes_.push_back(std::move(shape));
    return true;
}

bool Inference::bind_input(std::size_t i)
{
    const npu_tensor& tensor = desc_.tensor[i];
    std::uint32_t dtype = model_.inputs()[i].dtype;
    Slot& slot = inputs_[i];

    if (dtype == kString)
        return bind_strings(i);
    if (!tensor.bytes) {
        slot.value = tensor_over(nullptr, 0, input_shapes_[i], dtype);
        return true;
    }

    DeviceAddress va{tensor.va};
    std::byte* data = nullptr;
    Mmu::Result result{Mmu::Result::kScattered, {}};
    /* The engine's loads want elements at their natural alignment. */
    if (tensor.va % element_bytes(dtype) == 0)
        result = mmu_.pin(job_.asid, va, tensor.bytes, Access::kRead, slot.pin);
    if (result) {
        data = slot.pin.data();
        slot.in_place = true;
        job_.bytes_in_place += tensor.bytes;
    } else if (result.kind == Mmu::Result::kScattered) {
        slot.memory.resize(tensor.bytes);
        result = mmu_.read(job_.asid, va, slot.memory);
        data = slot.memory.data();
        job_.bytes_dma += tensor.bytes;
    }
    if (!result)
        return memory_fault(result);
    slot.value = tensor_over(data, tensor.bytes, input_shapes_[i], dtype);
    return true;
}

bool Inference::bind_strings(std::size_t i)
{
    const npu_tensor& tensor = desc_.tensor[i];
    Slot& slot = inputs_[i];

    slot.memory.resize(tensor.bytes);
    Mmu::Result result = mmu_.read(job_.asid, DeviceAddress{tensor.va}, slot.memory);
    if (!result)
        return memory_fault(result);
    job_.bytes_dma += tensor.bytes;

    std::optional<std::vector<std::string>> strings =
        unpack_strings(slot.memory, *element_count(input_shapes_[i]));
    if (!strings)
        return bad_tensor(input_name(i) + " is no tensor of strings: needed are offsets that "
                                          "begin with 0, do not fall and end with the characters");
    Ort::AllocatorWithDefaultOptions allocator;
    slot.value =
        Ort::Value::CreateTensor(allocator, input_shapes_[i].data(), input_shapes_[i].size(),
                                 ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    for (std::size_t s = 0; s < strings->size(); s++) {
        char* to = slot.value.GetResizedStringTensorElementBuffer(s, (*strings)[s].size());
        std::copy((*strings)[s].begin(), (*strings)[s].end(), to);
    }
    return true;
}

/* ---- outputs ---- */

/* An output over an input would change the input under the engine. */
bool Inference::overlaps_input(const npu_tensor& output, std::uint64_t bytes) const
{
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        const npu_tensor& input = desc_.tensor[i];
        if (input.bytes && input.va < output.va + bytes && output.va < input.va + input.bytes)
            return true;
    }
    return false;
}

bool Inference::bind_outputs()
{
    predicted_ = model_.predict(input_shapes_);
    for (std::size_t i = 0; i < outputs_.size(); i++)
        if (predicted_[i] && !bind_output(i, *predicted_[i]))
            return false;
    return true;
}

/* In place if it can be; what is left unbound is made in engine memory by the engine. */
bool Inference::bind_output(std::size_t i, const Shape& shape)
{
    const npu_tensor& tensor = output_tensor(i);
    std::uint32_t dtype = model_.outputs()[i].dtype;
    std::optional<std::uint64_t> bytes = tensor_bytes(shape, dtype);
    Slot& slot = outputs_[i];

    if (dtype == kString || !bytes || !*bytes || *bytes > tensor.bytes ||
        tensor.va % element_bytes(dtype) || overlaps_input(tensor, *bytes))
        return true;

    Mmu::Result result =
        mmu_.pin(job_.asid, DeviceAddress{tensor.va}, *bytes, Access::kWrite, slot.pin);
    if (result.kind == Mmu::Result::kScattered)
        return true;
    if (!result)
        return memory_fault(result);
    slot.value = tensor_over(slot.pin.data(), *bytes, shape, dtype);
    slot.in_place = true;
    return true;
}

/* ---- running ---- */

bool Inference::execute()
{
    bool shape_mismatch = false;

    if (call(shape_mismatch))
        return true;
    if (!shape_mismatch)
        return false;

    /*
     * Either a guess of an output's shape was wrong, or the inputs do not go
     * together. They are as they were: run again, with no guess.
     */
    for (Slot& slot : outputs_)
        slot = Slot{};
    job_.fail(NPU_ST_OK);
    return call(shape_mismatch);
}

bool Inference::call(bool& shape_mismatch)
{
    std::vector<OrtValue*> inputs, outputs;
    bool bound = false;

    for (Slot& slot : inputs_)
        inputs.push_back(slot.value);
    for (Slot& slot : outputs_) {
        bound = bound || slot.in_place;
        outputs.push_back(slot.value);
    }
    OrtStatus* status = Ort::GetApi().Run(
        model_.session(), job_.run_options, model_.input_names().data(), inputs.data(),
        inputs.size(), model_.output_names().data(), outputs.size(), outputs.data());
    for (std::size_t i = 0; i < outputs_.size(); i++)
        if (!outputs_[i].in_place)
            outputs_[i].value = Ort::Value(outputs[i]);
    if (!status)
        return true;

    Ort::Status owner(status);
    std::string what = owner.GetErrorMessage();
    shape_mismatch = bound && job_.stop == Stop::kNo && what.find("hape") != std::string::npos;
    Ort::Exception error(std::move(what), owner.GetErrorCode());
    job_.fail(run_status(error), engine_sentence(error.what()));
    return false;
}

/* ---- results ---- */

/* What output @i is; @packed is filled for strings. */
bool Inference::learn(std::size_t i, std::vector<std::byte>& packed)
{
    npu_tensor& tensor = output_tensor(i);
    Ort::Value& value = outputs_[i].value;
    std::string name = "output " + std::to_string(i) + " '" + model_.outputs()[i].name + "'";

    if (!value || !value.IsTensor()) {
        job_.fail(NPU_ST_UNSUPPORTED, name + " has no value that is a tensor");
        return false;
    }
    auto info = value.GetTensorTypeAndShapeInfo();
    Shape shape = info.GetShape();
    auto dtype = static_cast<std::uint32_t>(info.GetElementType());
    if (shape.size() > NPU_MAX_DIMS) {
        job_.fail(NPU_ST_UNSUPPORTED, name + " has " + std::to_string(shape.size()) +
                                          " dimensions, the device takes at most " +
                                          std::to_string(NPU_MAX_DIMS));
        return false;
    }
    std::uint64_t needed = 0;
    if (dtype == kString) {
        std::vector<std::string> strings(info.GetElementCount());
        for (std::size_t s = 0; s < strings.size(); s++)
            strings[s] = value.GetStringTensorElement(s);
        packed = pack_strings(strings);
        needed = packed.size();
    } else {
        needed = tensor_bytes(shape, dtype).value_or(UINT64_MAX);
    }
    tensor.needed = needed;
    tensor.dtype = dtype;
    tensor.rank = static_cast<__u32>(shape.size());
    for (std::size_t d = 0; d < NPU_MAX_DIMS; d++)
        tensor.dims[d] = d < shape.size() ? static_cast<__u64>(shape[d]) : 0;
    output_shapes_[i] = std::move(shape);
    return true;
}

/* Count what is in place, move the rest. */
bool Inference::store(std::size_t i, const std::vector<std::byte>& packed)
{
    const npu_tensor& tensor = output_tensor(i);
    Slot& slot = outputs_[i];
    std::span<const std::byte> data = packed;

    if (tensor.dtype != kString)
        data = {static_cast<const std::byte*>(slot.value.GetTensorRawData()), tensor.needed};
    if (!tensor.needed)
        return true;
    if (slot.in_place && data.data() == slot.pin.data()) {
        job_.bytes_in_place += tensor.needed;
        return true;
    }
    Mmu::Result result = mmu_.write(job_.asid, DeviceAddress{tensor.va}, data);
    if (!result)
        return memory_fault(result);
    job_.bytes_dma += tensor.needed;
    return true;
}

bool Inference::collect()
{
    std::vector<std::vector<std::byte>> packed(outputs_.size());
    std::string small;

    for (std::size_t i = 0; i < outputs_.size(); i++) {
        if (!learn(i, packed[i]))
            return false;
        const npu_tensor& tensor = output_tensor(i);
        if (tensor.needed > tensor.bytes && small.empty())
            small = "output " + std::to_string(i) + " '" + model_.outputs()[i].name +
                    "' has room for " + std::to_string(tensor.bytes) + " bytes, its shape " +
                    shape_text(output_shapes_[i]) + " needs " + std::to_string(tensor.needed);
    }
    model_.observe(input_shapes_, predicted_, output_shapes_);
    if (!small.empty()) {
        job_.fail(NPU_ST_TOO_SMALL, small);
        return false;
    }
    for (std::size_t i = 0; i < outputs_.size(); i++)
        if (!store(i, packed[i]))
            return false;
    return true;
}

} // namespace ai0::npu
