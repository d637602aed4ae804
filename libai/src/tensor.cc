/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/tensor.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tensor_access.h"
#include "text.h"

namespace ai {

namespace {

/* What offsets must be a multiple of. */
std::uint64_t alignment(DType dtype)
{
    return dtype == DType::kString ? sizeof(std::uint64_t)
                                   : std::min<std::uint64_t>(element_bytes(dtype), 8);
}

Result<void> check_place(const Buffer* buffer, Bytes offset, Bytes bytes, DType dtype)
{
    if (!buffer)
        return Error{EINVAL, "the tensor is given no buffer, one is needed"};
    if (alignment(dtype) == 0)
        return Error{EINVAL, "the tensor is given no element type, one is needed"};
    if (offset > buffer->size() || bytes > buffer->size() - offset)
        return Error{EINVAL, "the tensor takes " + std::to_string(bytes.count()) +
                                 " bytes from offset " + std::to_string(offset.count()) +
                                 " on, its buffer has " + std::to_string(buffer->size().count()) +
                                 " bytes in all"};
    if (offset.count() % alignment(dtype) != 0)
        return Error{EINVAL, "the tensor begins at offset " + std::to_string(offset.count()) +
                                 ", elements of " + dtype_name(dtype) + " need a multiple of " +
                                 std::to_string(alignment(dtype))};
    return {};
}

} // namespace

Result<Bytes> tensor_bytes(DType dtype, const Shape& shape)
{
    std::optional<std::uint64_t> count = shape.elements();
    std::uint64_t bytes = 0;

    if (dtype == DType::kString)
        return Error{EINVAL, "the size of a tensor of strings does not follow from its shape"};
    if (element_bytes(dtype) == 0)
        return Error{EINVAL, "the tensor is given no element type, one is needed"};
    if (!count || __builtin_mul_overflow(*count, element_bytes(dtype), &bytes))
        return Error{EINVAL, "the shape " + to_string(shape) + " of " + dtype_name(dtype) +
                                 " takes more than 2^64 bytes"};
    return Bytes(bytes);
}

Result<Tensor> Tensor::allocate(const Session& session, DType dtype, const Shape& shape,
                                const AllocOptions& options)
{
    Result<Bytes> bytes = tensor_bytes(dtype, shape);

    if (!bytes)
        return std::move(bytes).error();
    if (*bytes == Bytes(0)) {
        Tensor tensor;
        tensor.dtype_ = dtype;
        tensor.shape_ = shape;
        return tensor;
    }
    Result<std::shared_ptr<Buffer>> buffer = Buffer::allocate(session, *bytes, options);
    if (!buffer)
        return std::move(buffer).error();
    return view(std::move(*buffer), Bytes(0), dtype, shape).transform([](Tensor&& tensor) {
        tensor.capacity_ = tensor.buffer_->size();
        return std::move(tensor);
    });
}

Result<Tensor> Tensor::view(std::shared_ptr<Buffer> buffer, Bytes offset, DType dtype,
                            const Shape& shape)
{
    Result<Bytes> bytes = tensor_bytes(dtype, shape);

    if (!bytes)
        return std::move(bytes).error();
    if (Result<void> place = check_place(buffer.get(), offset, *bytes, dtype); !place)
        return std::move(place).error();
    Tensor tensor;
    tensor.buffer_ = std::move(buffer);
    tensor.shape_ = shape;
    tensor.dtype_ = dtype;
    tensor.elements_ = shape.elements().value_or(0);
    tensor.offset_ = offset;
    tensor.bytes_ = *bytes;
    tensor.capacity_ = *bytes;
    return tensor;
}

Result<Tensor> Tensor::room(std::shared_ptr<Buffer> buffer, Bytes offset, DType dtype,
                            Bytes capacity)
{
    if (Result<void> place = check_place(buffer.get(), offset, capacity, dtype); !place)
        return std::move(place).error();
    Tensor tensor;
    tensor.buffer_ = std::move(buffer);
    tensor.shape_ = Shape(0);
    tensor.dtype_ = dtype;
    tensor.offset_ = offset;
    tensor.capacity_ = capacity;
    return tensor;
}

Result<Tensor> Tensor::from_strings(const Session& session, const Shape& shape,
                                    std::span<const std::string> strings,
                                    const AllocOptions& options)
{
    if (shape.elements() != strings.size())
        return Error{EINVAL, "the shape " + to_string(shape) + " does not have the " +
                                 std::to_string(strings.size()) + " strings that are given"};
    std::vector<std::byte> packed = pack_strings(strings);
    Result<std::shared_ptr<Buffer>> buffer =
        Buffer::allocate(session, Bytes(packed.size()), options);
    if (!buffer)
        return std::move(buffer).error();
    std::ranges::copy(packed, (*buffer)->data().begin());

    Tensor tensor;
    tensor.buffer_ = std::move(*buffer);
    tensor.shape_ = shape;
    tensor.dtype_ = DType::kString;
    tensor.elements_ = strings.size();
    tensor.bytes_ = Bytes(packed.size());
    tensor.capacity_ = tensor.buffer_->size();
    return tensor;
}

Result<std::vector<std::string_view>> Tensor::strings() const
{
    if (dtype_ != DType::kString)
        return Error{EINVAL, std::string("the tensor has elements of ") + dtype_name(dtype_) +
                                 ", not strings"};
    return unpack_strings(data(), elements_);
}

std::vector<std::byte> pack_strings(std::span<const std::string> strings)
{
    std::vector<std::uint64_t> offsets{0};

    for (const std::string& text : strings)
        offsets.push_back(offsets.back() + text.size());

    std::span<const std::byte> table = std::as_bytes(std::span(offsets));
    std::vector<std::byte> packed(table.begin(), table.end());
    packed.reserve(table.size() + offsets.back());
    for (const std::string& text : strings) {
        std::span<const std::byte> characters = std::as_bytes(std::span(text));
        packed.insert(packed.end(), characters.begin(), characters.end());
    }
    return packed;
}

Result<std::vector<std::string_view>> unpack_strings(std::span<const std::byte> data,
                                                     std::uint64_t count)
{
    Error malformed{EBADMSG, "the memory is not a table of " + std::to_string(count) +
                                 " strings and their characters"};

    if (count >= data.size() / sizeof(std::uint64_t))
        return malformed;
    std::vector<std::uint64_t> offsets(count + 1);
    std::memcpy(offsets.data(), data.data(), offsets.size() * sizeof(std::uint64_t));

    std::span<const std::byte> characters = data.subspan(offsets.size() * sizeof(std::uint64_t));
    std::vector<std::string_view> strings;
    strings.reserve(count);
    if (offsets.front() != 0)
        return malformed;
    for (std::uint64_t i = 0; i < count; i++) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > characters.size())
            return malformed;
        strings.emplace_back(reinterpret_cast<const char*>(characters.data()) + offsets[i],
                             offsets[i + 1] - offsets[i]);
    }
    return strings;
}

namespace detail {

Error span_error(const Tensor& tensor, DType asked)
{
    return {EINVAL, std::string("the tensor has elements of ") + dtype_name(tensor.dtype()) +
                        ", a span of " + dtype_name(asked) + " was asked for"};
}

ai_tensor TensorAccess::to_kernel(const Tensor& tensor, Bytes bytes)
{
    ai_tensor out{};

    out.bytes = bytes.count();
    out.dtype = static_cast<std::uint32_t>(tensor.dtype_);
    out.rank = static_cast<std::uint32_t>(tensor.shape_.rank());
    std::ranges::copy(tensor.shape_, out.dims);
    /* What has no bytes has no address, either. */
    if (bytes > Bytes(0)) {
        out.la = static_cast<std::uint64_t>(tensor.buffer_->address());
        out.offset = tensor.offset_.count();
    }
    return out;
}

void TensorAccess::set_result(Tensor& tensor, const ai_tensor& from)
{
    std::array<std::uint64_t, kMaxDims> dims;
    std::ranges::copy(from.dims, dims.begin());
    Shape shape = Shape::from(std::span<const std::uint64_t>(dims).first(
                                  std::min<std::size_t>(from.rank, kMaxDims)))
                      .value_or(Shape());

    tensor.shape_ = shape;
    tensor.dtype_ = static_cast<DType>(from.dtype);
    tensor.elements_ = shape.elements().value_or(0);
    tensor.bytes_ = Bytes(from.needed);
    tensor.needed_ = Bytes(from.needed);
}

} // namespace detail

} // namespace ai
