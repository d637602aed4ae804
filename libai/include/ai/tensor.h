/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor: element type, shape, and a place in a Buffer.
 *
 * Elements are dense, in row-major order (the last dimension runs fastest),
 * little-endian, and stay where they are: data() and span() show the pages that the
 * device uses. Nothing here copies elements.
 */
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ai/buffer.h>
#include <ai/dtype.h>
#include <ai/export.h>
#include <ai/result.h>
#include <ai/shape.h>
#include <ai/types.h>

namespace ai {

class Tensor;

namespace detail {
struct TensorAccess;
LIBAI_API Error span_error(const Tensor& tensor, DType asked);
} // namespace detail

/*
 * A view of a Buffer, which it shares with its copies: copying a Tensor copies no
 * elements, and const protects the view, not the elements. The default tensor has
 * no elements and no memory.
 *
 * Distinct objects may be used by different threads, also when they share a Buffer.
 */
class LIBAI_API Tensor {
public:
    Tensor() = default;

    /*
     * With a Buffer of its own, elements zero. A tensor without elements takes no
     * memory. EINVAL for strings, whose size the shape does not give, see
     * from_strings() and room().
     */
    static Result<Tensor> allocate(const Session& session, DType dtype, const Shape& shape,
                                   const AllocOptions& options = {});

    /*
     * Elements that lie in @buffer from @offset on, which is a multiple of the
     * element size. EINVAL when they do not fit.
     */
    static Result<Tensor> view(std::shared_ptr<Buffer> buffer, Bytes offset, DType dtype,
                               const Shape& shape);

    /*
     * Room for an output whose shape is not known yet: @capacity bytes of @buffer.
     * infer() sets the shape.
     */
    static Result<Tensor> room(std::shared_ptr<Buffer> buffer, Bytes offset, DType dtype,
                               Bytes capacity);

    /* A tensor of strings with a copy of @strings, one for each element of @shape. */
    static Result<Tensor> from_strings(const Session& session, const Shape& shape,
                                       std::span<const std::string> strings,
                                       const AllocOptions& options = {});

    DType dtype() const { return dtype_; }
    const Shape& shape() const { return shape_; }
    std::uint64_t elements() const { return elements_; }

    /* Size of the elements, and of the room for them. */
    Bytes bytes() const { return bytes_; }
    Bytes capacity() const { return capacity_; }

    /*
     * After infer() failed with ENOSPC: bytes this output would have, or 0 where the
     * device could not say.
     */
    Bytes needed() const { return needed_; }

    const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
    Bytes offset() const { return offset_; }

    /* The elements as they lie in memory. Valid as long as the Buffer is. */
    std::span<std::byte> data() const
    {
        return buffer_ ? buffer_->data().subspan(offset_.count(), bytes_.count())
                       : std::span<std::byte>();
    }

    /* The elements. EINVAL if they are not of type T. */
    template <typename T> Result<std::span<T>> span() const
    {
        static_assert(dtype_of<T> != DType::kUndefined, "no element type is made of this type");
        if (dtype_ != dtype_of<T>)
            return detail::span_error(*this, dtype_of<T>);
        return std::span<T>(reinterpret_cast<T*>(data().data()), elements_);
    }

    /* The strings, valid as long as the Buffer is. EBADMSG if the table is not one. */
    Result<std::vector<std::string_view>> strings() const;

private:
    friend struct detail::TensorAccess;

    std::shared_ptr<Buffer> buffer_;
    Shape shape_;
    DType dtype_ = DType::kUndefined;
    std::uint64_t elements_ = 0;
    Bytes offset_;
    Bytes bytes_;
    Bytes capacity_;
    Bytes needed_;
};

/* Bytes of a tensor; EINVAL for strings and where 64 bits do not suffice. */
LIBAI_API Result<Bytes> tensor_bytes(DType dtype, const Shape& shape);

/* A tensor of strings as it lies in memory: the table of offsets and the characters. */
LIBAI_API std::vector<std::byte> pack_strings(std::span<const std::string> strings);

/* The reverse, of memory that holds @count strings. */
LIBAI_API Result<std::vector<std::string_view>> unpack_strings(std::span<const std::byte> data,
                                                               std::uint64_t count);

} // namespace ai
