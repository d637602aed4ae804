// SPDX-License-Identifier: GPL-2.0-only
#include "onnx_case.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <onnx/onnx_pb.h>

// The test has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::test {

namespace fs = std::filesystem;

namespace {

std::string read_file(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Bytes to_bytes(const std::string& text)
{
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

std::size_t width_of(int dtype)
{
    switch (dtype) {
    case 2:
    case 3:
    case 9:
        return 1;
    case 4:
    case 5:
    case 10:
    case 16:
        return 2;
    case 1:
    case 6:
    case 12:
        return 4;
    case 7:
    case 11:
    case 13:
    case 14:
        return 8;
    case 15:
        return 16;
    default:
        return 0;
    }
}

template <typename T> void append(Bytes& bytes, T value, std::size_t width = sizeof(T))
{
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + width);
}

Bytes pack(const google::protobuf::RepeatedPtrField<std::string>& strings)
{
    Bytes bytes;
    std::uint64_t offset = 0;

    append(bytes, offset);
    for (const std::string& text : strings) {
        offset += text.size();
        append(bytes, offset);
    }
    for (const std::string& text : strings)
        for (char c : text)
            bytes.push_back(static_cast<std::byte>(c));
    return bytes;
}

Tensor from_proto(const onnx::TensorProto& proto)
{
    Tensor tensor;
    int dtype = proto.data_type();
    std::size_t width = width_of(dtype);

    tensor.dtype = static_cast<std::uint32_t>(dtype);
    tensor.shape.assign(proto.dims().begin(), proto.dims().end());
    if (dtype == onnx::TensorProto::STRING)
        tensor.data = pack(proto.string_data());
    else if (proto.has_raw_data())
        tensor.data = to_bytes(proto.raw_data());
    else if (dtype == onnx::TensorProto::FLOAT || dtype == onnx::TensorProto::COMPLEX64)
        for (float value : proto.float_data())
            append(tensor.data, value);
    else if (dtype == onnx::TensorProto::DOUBLE || dtype == onnx::TensorProto::COMPLEX128)
        for (double value : proto.double_data())
            append(tensor.data, value);
    else if (dtype == onnx::TensorProto::INT64)
        for (std::int64_t value : proto.int64_data())
            append(tensor.data, value);
    else if (dtype == onnx::TensorProto::UINT32 || dtype == onnx::TensorProto::UINT64)
        for (std::uint64_t value : proto.uint64_data())
            append(tensor.data, value, width);
    else
        for (std::int32_t value : proto.int32_data())
            append(tensor.data, value, width);
    return tensor;
}

double half(std::uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 1023;
    double value = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                   : exponent == 0 ? std::ldexp(mantissa, -24)
                                   : std::ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

template <typename T> double element(const Tensor& tensor, std::size_t i)
{
    T value;
    std::memcpy(&value, tensor.data.data() + i * sizeof(T), sizeof(T));
    return static_cast<double>(value);
}

double value_at(const Tensor& tensor, std::size_t i)
{
    switch (tensor.dtype) {
    case 1:
        return element<float>(tensor, i);
    case 2:
    case 9:
        return element<std::uint8_t>(tensor, i);
    case 3:
        return element<std::int8_t>(tensor, i);
    case 4:
        return element<std::uint16_t>(tensor, i);
    case 5:
        return element<std::int16_t>(tensor, i);
    case 6:
        return element<std::int32_t>(tensor, i);
    case 7:
        return element<std::int64_t>(tensor, i);
    case 10: {
        std::uint16_t bits;
        std::memcpy(&bits, tensor.data.data() + 2 * i, 2);
        return half(bits);
    }
    case 11:
        return element<double>(tensor, i);
    case 12:
        return element<std::uint32_t>(tensor, i);
    case 13:
        return element<std::uint64_t>(tensor, i);
    case 16: {
        std::uint32_t bits = 0;
        std::memcpy(reinterpret_cast<char*>(&bits) + 2, tensor.data.data() + 2 * i, 2);
        float value;
        std::memcpy(&value, &bits, 4);
        return value;
    }
    default:
        return 0;
    }
}

/* ---- making models ---- */

void set_type(onnx::ValueInfoProto& info, const std::string& name,
              const std::vector<std::int64_t>& shape, std::int32_t dtype)
{
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(dtype);
    auto* dims = type->mutable_shape();
    for (std::int64_t dim : shape) {
        if (dim == kUnnamed)
            dims->add_dim();
        else if (dim < 0)
            dims->add_dim()->set_dim_param("n");
        else
            dims->add_dim()->set_dim_value(dim);
    }
}

onnx::ModelProto empty_model()
{
    onnx::ModelProto model;

    model.set_ir_version(7);
    auto* opset = model.add_opset_import();
    opset->set_domain("");
    opset->set_version(13);
    model.mutable_graph()->set_name("test");
    return model;
}

onnx::NodeProto& add_node(onnx::ModelProto& model, const std::string& op,
                          const std::vector<std::string>& inputs, const std::string& output)
{
    onnx::NodeProto& node = *model.mutable_graph()->add_node();

    node.set_op_type(op);
    for (const std::string& input : inputs)
        node.add_input(input);
    node.add_output(output);
    return node;
}

Bytes serialised(const onnx::ModelProto& model)
{
    return to_bytes(model.SerializeAsString());
}

} // namespace

fs::path suite_folder()
{
    const char* folder = std::getenv("ONNX_TESTDATA");
    return folder ? folder : "/usr/share/libonnx-testdata/data";
}

Case read_case(const fs::path& folder)
{
    Case result;

    result.name = folder.filename();
    result.model = to_bytes(read_file(folder / "model.onnx"));
    for (int set = 0;; set++) {
        fs::path from = folder / ("test_data_set_" + std::to_string(set));
        if (!fs::exists(from))
            break;
        TestSet& data = result.sets.emplace_back();
        for (const char* kind : {"input_", "output_"}) {
            for (int i = 0;; i++) {
                fs::path file = from / (kind + std::to_string(i) + ".pb");
                if (!fs::exists(file))
                    break;
                onnx::TensorProto proto;
                if (!proto.ParseFromString(read_file(file)) || !proto.data_type() ||
                    (!width_of(proto.data_type()) && proto.data_type() != 8)) {
                    result.unusable = file.filename().string() + " is no tensor";
                    continue;
                }
                (kind[0] == 'i' ? data.inputs : data.outputs).push_back(from_proto(proto));
            }
        }
    }
    if (result.sets.empty())
        result.unusable = "there are no inputs";
    return result;
}

std::string compare(const Tensor& found, const Tensor& needed)
{
    if (found.dtype != needed.dtype)
        return "type " + std::to_string(found.dtype) + ", needed " + std::to_string(needed.dtype);
    if (found.shape != needed.shape)
        return "another shape";
    if (found.data.size() != needed.data.size())
        return std::to_string(found.data.size()) + " bytes, needed " +
               std::to_string(needed.data.size());
    if (found.dtype == 8 || found.dtype == 14 || found.dtype == 15)
        return found.data == needed.data ? "" : "another value";
    std::size_t width = width_of(static_cast<int>(found.dtype));
    for (std::size_t i = 0; i < found.data.size() / width; i++) {
        double a = value_at(found, i), b = value_at(needed, i);
        if (a == b || (std::isnan(a) && std::isnan(b)))
            continue;
        if (!(std::fabs(a - b) <= 1e-7 + 1e-3 * std::fabs(b)))
            return "element " + std::to_string(i) + " is " + std::to_string(a) + ", needed " +
                   std::to_string(b);
    }
    return {};
}

Bytes one_op_model(const std::string& op, const std::vector<std::vector<std::int64_t>>& inputs,
                   const std::vector<std::int64_t>& output, std::int32_t output_type)
{
    onnx::ModelProto model = empty_model();
    std::vector<std::string> names;

    for (const auto& shape : inputs) {
        names.push_back("x" + std::to_string(names.size()));
        set_type(*model.mutable_graph()->add_input(), names.back(), shape, 1);
    }
    add_node(model, op, names, "y");
    set_type(*model.mutable_graph()->add_output(), "y", output, output_type);
    return serialised(model);
}

Bytes concat_model(std::int64_t output)
{
    onnx::ModelProto model = empty_model();

    for (const char* name : {"a", "b"})
        set_type(*model.mutable_graph()->add_input(), name, {-1}, 1);
    auto* axis = add_node(model, "Concat", {"a", "b"}, "y").add_attribute();
    axis->set_name("axis");
    axis->set_type(onnx::AttributeProto::INT);
    axis->set_i(0);
    set_type(*model.mutable_graph()->add_output(), "y", {output}, 1);
    return serialised(model);
}

Bytes pass_through_model()
{
    onnx::ModelProto model = empty_model();

    set_type(*model.mutable_graph()->add_input(), "x", {4}, 1);
    add_node(model, "Neg", {"x"}, "y");
    set_type(*model.mutable_graph()->add_output(), "x", {4}, 1);
    set_type(*model.mutable_graph()->add_output(), "y", {4}, 1);
    return serialised(model);
}

Bytes any_shape_model()
{
    onnx::ModelProto model = empty_model();

    for (auto* info : {model.mutable_graph()->add_input(), model.mutable_graph()->add_output()})
        info->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    model.mutable_graph()->mutable_input(0)->set_name("x");
    model.mutable_graph()->mutable_output(0)->set_name("y");
    add_node(model, "Neg", {"x"}, "y");
    return serialised(model);
}

Bytes constant_output_model()
{
    onnx::ModelProto model = empty_model();

    onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.set_data_type(1);
    weight.add_dims(4);
    for (float value : {5.f, 6.f, 7.f, 8.f})
        weight.add_float_data(value);
    set_type(*model.mutable_graph()->add_input(), "x", {4}, 1);
    add_node(model, "Add", {"x", "w"}, "y");
    set_type(*model.mutable_graph()->add_output(), "w", {4}, 1);
    set_type(*model.mutable_graph()->add_output(), "y", {4}, 1);
    return serialised(model);
}

Bytes huge_model()
{
    onnx::ModelProto model = empty_model();

    set_type(*model.mutable_graph()->add_input(), "x", {1}, 7);
    add_node(model, "ConstantOfShape", {"x"}, "y");
    set_type(*model.mutable_graph()->add_output(), "y", {kUnnamed}, 1);
    return serialised(model);
}

Bytes deep_model(int depth, std::int64_t width)
{
    onnx::ModelProto model = empty_model();
    std::string last = "x";

    set_type(*model.mutable_graph()->add_input(), "x", {-1, width}, 1);
    for (int i = 0; i < depth; i++) {
        std::string next = i + 1 == depth ? "y" : "t" + std::to_string(i);
        add_node(model, i % 2 ? "Relu" : "Neg", {last}, next);
        last = next;
    }
    set_type(*model.mutable_graph()->add_output(), "y", {-1, width}, 1);
    return serialised(model);
}

Bytes heavy_model(int depth, std::int64_t size)
{
    onnx::ModelProto model = empty_model();
    std::string last = "x";

    set_type(*model.mutable_graph()->add_input(), "x", {size, size}, 1);
    set_type(*model.mutable_graph()->add_input(), "w", {size, size}, 1);
    for (int i = 0; i < depth; i++) {
        std::string next = i + 1 == depth ? "y" : "t" + std::to_string(i);
        add_node(model, "MatMul", {last, "w"}, next);
        last = next;
    }
    set_type(*model.mutable_graph()->add_output(), "y", {size, size}, 1);
    return serialised(model);
}

Bytes external_data_model(const std::string& file)
{
    onnx::ModelProto model = empty_model();
    onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();

    weight.set_name("w");
    weight.set_data_type(1);
    weight.add_dims(4);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = weight.add_external_data();
    entry->set_key("location");
    entry->set_value(file);
    set_type(*model.mutable_graph()->add_input(), "x", {4}, 1);
    add_node(model, "Add", {"x", "w"}, "y");
    set_type(*model.mutable_graph()->add_output(), "y", {4}, 1);
    return serialised(model);
}

Bytes sequence_model()
{
    onnx::ModelProto model = empty_model();

    set_type(*model.mutable_graph()->add_input(), "x", {4}, 1);
    add_node(model, "SequenceConstruct", {"x"}, "y");
    auto* output = model.mutable_graph()->add_output();
    output->set_name("y");
    output->mutable_type()
        ->mutable_sequence_type()
        ->mutable_elem_type()
        ->mutable_tensor_type()
        ->set_elem_type(1);
    return serialised(model);
}

Bytes unknown_op_model()
{
    return one_op_model("Frobnicate", {{4}}, {4});
}

} // namespace ai0::test

// NOLINTEND(concurrency-mt-unsafe)
