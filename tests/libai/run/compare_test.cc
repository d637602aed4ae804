/* SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare.h"
#include "elements.h"

namespace {

using ai_run::difference;
using ai_run::HostTensor;

template <typename T> HostTensor tensor_of(std::initializer_list<T> values)
{
    HostTensor tensor{"", ai::dtype_of<T>, ai::Shape(values.size()), {}};
    tensor.data.resize(values.size() * sizeof(T));
    std::memcpy(tensor.data.data(), values.begin(), tensor.data.size());
    return tensor;
}

TEST(Compare, AllowsTheTolerance)
{
    EXPECT_FALSE(difference(tensor_of({1000.0F}), tensor_of({1000.9F})));
    EXPECT_TRUE(difference(tensor_of({1000.0F}), tensor_of({1001.1F})));
    EXPECT_FALSE(difference(tensor_of({0.0}), tensor_of({0.9e-7})));
    EXPECT_TRUE(difference(tensor_of({0.0}), tensor_of({1.1e-7})));
    EXPECT_TRUE(difference(tensor_of<std::int32_t>({5}), tensor_of<std::int32_t>({6})));
}

TEST(Compare, TakesSpecialValuesForWhatTheyAre)
{
    float nan = std::nanf("");
    float infinity = std::numeric_limits<float>::infinity();

    EXPECT_FALSE(difference(tensor_of({nan, infinity}), tensor_of({nan, infinity})));
    EXPECT_TRUE(difference(tensor_of({nan}), tensor_of({1.0F})));
    EXPECT_TRUE(difference(tensor_of({1.0F}), tensor_of({nan})));
    EXPECT_TRUE(difference(tensor_of({infinity}), tensor_of({-infinity})));
    EXPECT_TRUE(difference(tensor_of({infinity}), tensor_of({1e30F})));
    EXPECT_TRUE(difference(tensor_of({1e30F}), tensor_of({infinity})));
}

TEST(Compare, TellsLargeIntegersApart)
{
    auto large = std::numeric_limits<std::int64_t>::max();
    ai_run::Tolerance none{0, 0};

    EXPECT_TRUE(difference(tensor_of({large}), tensor_of({large - 1}), none));
    EXPECT_FALSE(difference(tensor_of({large}), tensor_of({large}), none));
}

TEST(Compare, WantsTypeAndShape)
{
    EXPECT_EQ(difference(tensor_of({1.0F}), tensor_of({1.0})),
              "the element type is float64, float32 was expected");
    EXPECT_EQ(difference(tensor_of({1.0F}), tensor_of({1.0F, 1.0F})),
              "the shape is [2], [1] was expected");
    EXPECT_EQ(difference(tensor_of({1.0F, 2.0F}), tensor_of({1.0F, 3.0F})),
              "element 1 is 3, 2 was expected");
}

TEST(Compare, ComplexNumbersAreNearInThePlane)
{
    using Complex = std::complex<float>;

    EXPECT_FALSE(difference(tensor_of({Complex(1000, 0)}), tensor_of({Complex(1000, 0.5F)})));
    EXPECT_EQ(difference(tensor_of({Complex(1, 0)}), tensor_of({Complex(1, 1)})),
              "element 0 is (1,1), (1,0) was expected");
}

TEST(Compare, StringsAreEqualOrNot)
{
    std::vector<std::string> one{"a", "b"};
    std::vector<std::string> two{"a", "c"};
    HostTensor first{"", ai::DType::kString, ai::Shape(2), ai::pack_strings(one)};
    HostTensor second{"", ai::DType::kString, ai::Shape(2), ai::pack_strings(two)};

    EXPECT_FALSE(difference(first, first));
    EXPECT_EQ(difference(first, second), "element 1 is 'c', 'b' was expected");
}

TEST(Elements, ConvertHalfPrecision)
{
    auto half = [](std::uint16_t bits) {
        return ai_run::value_at(ai::DType::kFloat16, std::as_bytes(std::span(&bits, 1)), 0);
    };
    std::uint16_t brain = 0xbfc0;

    EXPECT_EQ(half(0x3c00), 1);
    EXPECT_EQ(half(0xc000), -2);
    EXPECT_EQ(half(0x7bff), 65504);
    EXPECT_EQ(half(0x0001), std::ldexp(1.0L, -24));
    EXPECT_EQ(half(0x0400), std::ldexp(1.0L, -14));
    EXPECT_TRUE(std::isinf(half(0xfc00)));
    EXPECT_TRUE(std::isnan(half(0x7e00)));
    EXPECT_EQ(ai_run::value_at(ai::DType::kBfloat16, std::as_bytes(std::span(&brain, 1)), 0), -1.5);
}

} // namespace
