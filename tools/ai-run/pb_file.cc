/* SPDX-License-Identifier: Apache-2.0 */
#include "pb_file.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <onnx/onnx_pb.h>

namespace ai_run {

namespace {

template <typename Proto> bool parse(Proto& proto, std::span<const std::byte> file)
{
    return file.size() <= std::numeric_limits<int>::max() &&
           proto.ParseFromArray(file.data(), static_cast<int>(file.size()));
}

template <typename To, typename Field> std::vector<std::byte> narrowed(const Field& field)
{
    std::vector<To> values;

    values.reserve(static_cast<std::size_t>(field.size()));
    for (auto value : field)
        values.push_back(static_cast<To>(value));
    std::span<const std::byte> data = std::as_bytes(std::span(values));
    return {data.begin(), data.end()};
}

/* Elements that are not in raw_data: which field they are in depends on the type. */
std::vector<std::byte> field_data(const onnx::TensorProto& proto, ai::DType dtype)
{
    switch (dtype) {
    case ai::DType::kFloat32:
    case ai::DType::kComplex64:
        return narrowed<float>(proto.float_data());
    case ai::DType::kFloat64:
    case ai::DType::kComplex128:
        return narrowed<double>(proto.double_data());
    case ai::DType::kInt64:
        return narrowed<std::int64_t>(proto.int64_data());
    case ai::DType::kUint64:
        return narrowed<std::uint64_t>(proto.uint64_data());
    case ai::DType::kUint32:
        return narrowed<std::uint32_t>(proto.uint64_data());
    case ai::DType::kInt32:
        return narrowed<std::int32_t>(proto.int32_data());
    case ai::DType::kUint16:
    case ai::DType::kInt16:
    case ai::DType::kFloat16:
    case ai::DType::kBfloat16:
        return narrowed<std::uint16_t>(proto.int32_data());
    default: /* types of one byte */
        return narrowed<std::uint8_t>(proto.int32_data());
    }
}

} // namespace

ai::Result<HostTensor> parse_pb(std::span<const std::byte> file, const std::string& where)
{
    onnx::TensorProto proto;
    HostTensor tensor;

    if (!parse(proto, file))
        return ai::Error{EBADMSG, where + " is not an ONNX TensorProto, or is cut short"};
    tensor.name = proto.name();
    tensor.dtype = static_cast<ai::DType>(proto.data_type());
    bool strings = tensor.dtype == ai::DType::kString;
    if (!strings && ai::element_bytes(tensor.dtype) == 0)
        return ai::Error{proto.data_type() == 0 ? EBADMSG : EOPNOTSUPP,
                         where + " has elements of ONNX type " + std::to_string(proto.data_type()) +
                             ", 1 to 16 are known"};
    if (proto.data_location() == onnx::TensorProto::EXTERNAL)
        return ai::Error{EOPNOTSUPP,
                         where + " keeps its elements in another file, they are needed in it"};

    std::vector<std::int64_t> dims(proto.dims().begin(), proto.dims().end());
    ai::Result<ai::Shape> shape = ai::Shape::from(dims);
    if (!shape)
        return ai::Error{EBADMSG, where + ": " + shape.error().message};
    tensor.shape = *shape;

    if (strings) {
        auto count = static_cast<std::size_t>(proto.string_data_size());
        if (tensor.shape.elements() != count)
            return ai::Error{EBADMSG, where + " has " + std::to_string(count) + " strings, " +
                                          ai::to_string(tensor.shape) + " takes another number"};
        tensor.data = ai::pack_strings(
            std::vector<std::string>(proto.string_data().begin(), proto.string_data().end()));
        return tensor;
    }
    if (proto.has_raw_data()) {
        std::span<const std::byte> raw = std::as_bytes(std::span(proto.raw_data()));
        tensor.data.assign(raw.begin(), raw.end());
    } else {
        tensor.data = field_data(proto, tensor.dtype);
    }
    return check_size(tensor, where).and_then([&] { return ai::Result(std::move(tensor)); });
}

ai::Result<HostTensor> read_pb(const std::string& path)
{
    return read_file(path).and_then(
        [&](std::vector<std::byte>&& file) { return parse_pb(file, path); });
}

ai::Result<std::vector<std::byte>> format_pb(const HostTensor& tensor)
{
    onnx::TensorProto proto;

    proto.set_name(tensor.name);
    proto.set_data_type(static_cast<std::int32_t>(tensor.dtype));
    for (std::uint64_t dim : tensor.shape)
        proto.add_dims(static_cast<std::int64_t>(dim));
    if (tensor.dtype == ai::DType::kString) {
        auto strings = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0));
        if (!strings)
            return std::move(strings).error();
        for (std::string_view text : *strings)
            proto.add_string_data(text.data(), text.size());
    } else {
        proto.set_raw_data(tensor.data.data(), tensor.data.size());
    }
    std::vector<std::byte> file(proto.ByteSizeLong());
    if (file.size() > std::numeric_limits<int>::max() ||
        !proto.SerializeToArray(file.data(), static_cast<int>(file.size())))
        return ai::Error{EFBIG, "the tensor has " + std::to_string(tensor.data.size()) +
                                    " bytes, a .pb file holds less than 2^31"};
    return file;
}

ai::Result<void> write_pb(const std::string& path, const HostTensor& tensor)
{
    ai::Result<std::vector<std::byte>> file = format_pb(tensor);

    if (!file)
        return std::move(file).error();
    return write_file(path, *file);
}

ai::Result<GraphNames> read_graph_names(const std::string& model_path)
{
    ai::Result<std::vector<std::byte>> file = read_file(model_path);
    onnx::ModelProto model;
    GraphNames names;

    if (!file)
        return std::move(file).error();
    if (!parse(model, *file))
        return ai::Error{EBADMSG, model_path + " is not an ONNX model, or is cut short"};
    for (const onnx::ValueInfoProto& input : model.graph().input())
        names.inputs.push_back(input.name());
    for (const onnx::ValueInfoProto& output : model.graph().output())
        names.outputs.push_back(output.name());
    return names;
}

} // namespace ai_run
