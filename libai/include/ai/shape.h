/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a tensor's dimensions, outermost first. */
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <ai/export.h>
#include <ai/result.h>

namespace ai {

inline constexpr std::size_t kMaxDims = 8;

/*
 * A value without memory of its own. A shape of rank 0 is a scalar's: one element.
 * A dimension may be 0; then there are no elements.
 */
class LIBAI_API Shape {
public:
    constexpr Shape() = default;

    /* Shape(1, 3, 48, 320) */
    template <std::integral... D>
    requires(sizeof...(D) >= 1 && sizeof...(D) <= kMaxDims) constexpr explicit Shape(D... dims)
        : dims_{static_cast<std::uint64_t>(dims)...}, rank_(sizeof...(D))
    {
    }

    /* EINVAL: more than kMaxDims dimensions, or one that is negative. */
    static Result<Shape> from(std::span<const std::int64_t> dims);
    static Result<Shape> from(std::span<const std::uint64_t> dims);

    constexpr std::size_t rank() const { return rank_; }
    constexpr std::uint64_t operator[](std::size_t i) const { return dims_[i]; }
    constexpr const std::uint64_t* begin() const { return dims_.data(); }
    constexpr const std::uint64_t* end() const { return dims_.data() + rank_; }

    /* Product of the dimensions; nothing if it does not fit into 64 bits. */
    std::optional<std::uint64_t> elements() const;

    friend constexpr bool operator==(const Shape& a, const Shape& b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::array<std::uint64_t, kMaxDims> dims_{};
    std::size_t rank_ = 0;
};

/* For people, for example "[1,3,48,320]". */
LIBAI_API std::string to_string(const Shape& shape);

/* The same for sizes of which some are free (negative): "[1,3,48,?]". */
LIBAI_API std::string shape_text(std::span<const std::int64_t> dims);

} // namespace ai
