/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/shape.h>

#include <cerrno>

#include <ai/uapi/ai.h>

namespace ai {

static_assert(kMaxDims == AI_MAX_DIMS);

namespace {

std::optional<Error> rank_error(std::size_t rank)
{
    if (rank <= kMaxDims)
        return std::nullopt;
    return Error{EINVAL, "the shape has " + std::to_string(rank) + " dimensions, at most " +
                             std::to_string(kMaxDims) + " are possible"};
}

} // namespace

Result<Shape> Shape::from(std::span<const std::int64_t> dims)
{
    if (std::optional<Error> error = rank_error(dims.size()))
        return *error;

    Shape shape;
    for (std::int64_t dim : dims) {
        if (dim < 0)
            return Error{EINVAL, "the shape " + shape_text(dims) +
                                     " has a free dimension, a size is needed for each"};
        shape.dims_[shape.rank_++] = static_cast<std::uint64_t>(dim);
    }
    return shape;
}

Result<Shape> Shape::from(std::span<const std::uint64_t> dims)
{
    if (std::optional<Error> error = rank_error(dims.size()))
        return *error;

    Shape shape;
    std::ranges::copy(dims, shape.dims_.begin());
    shape.rank_ = dims.size();
    return shape;
}

std::optional<std::uint64_t> Shape::elements() const
{
    std::uint64_t count = 1;

    if (std::find(begin(), end(), 0U) != end())
        return 0;
    for (std::uint64_t dim : *this)
        if (__builtin_mul_overflow(count, dim, &count))
            return std::nullopt;
    return count;
}

std::string to_string(const Shape& shape)
{
    std::string text = "[";

    for (std::uint64_t dim : shape)
        text.append(text.size() > 1 ? "," : "").append(std::to_string(dim));
    return text + "]";
}

std::string shape_text(std::span<const std::int64_t> dims)
{
    std::string text = "[";

    for (std::int64_t dim : dims)
        text.append(text.size() > 1 ? "," : "").append(dim < 0 ? "?" : std::to_string(dim));
    return text + "]";
}

} // namespace ai
