/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities, element types, shapes, file descriptors. */
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ai/dtype.h>
#include <ai/shape.h>
#include <ai/tensor.h>
#include <ai/types.h>
#include <ai/unique_fd.h>

namespace {

using namespace ai::literals;

TEST(Bytes, Calculate)
{
    EXPECT_EQ(4_KiB, ai::Bytes(4096));
    EXPECT_EQ(1_MiB - 1_KiB + 1_B, ai::Bytes(1047553));
    EXPECT_LT(1_MiB, 1_GiB);
}

TEST(DType, HasNamesAndSizes)
{
    for (std::uint32_t i = 1; i <= 16; i++) {
        auto dtype = static_cast<ai::DType>(i);
        EXPECT_EQ(ai::dtype_from_name(ai::dtype_name(dtype)), dtype);
        EXPECT_EQ(ai::element_bytes(dtype) == 0, dtype == ai::DType::kString);
    }
    EXPECT_EQ(ai::dtype_from_name("double"), ai::DType::kFloat64);
    EXPECT_EQ(ai::dtype_from_name("float8"), std::nullopt);
    EXPECT_STREQ(ai::dtype_name(static_cast<ai::DType>(4711)), "undefined");
    EXPECT_EQ(ai::dtype_of<std::int64_t>, ai::DType::kInt64);
}

TEST(Shape, CountsElements)
{
    constexpr std::uint64_t kHuge = 1ULL << 40;

    EXPECT_EQ(ai::Shape().elements(), 1U);
    EXPECT_EQ(ai::Shape(2, 3, 4).elements(), 24U);
    EXPECT_EQ(ai::Shape(kHuge, kHuge).elements(), std::nullopt);
    EXPECT_EQ(ai::Shape(kHuge, kHuge, 0).elements(), 0U);
    EXPECT_EQ(ai::to_string(ai::Shape(1, 3, 48)), "[1,3,48]");
    EXPECT_EQ(ai::to_string(ai::Shape()), "[]");
}

TEST(Shape, RefusesWhatItCannotHold)
{
    std::vector<std::int64_t> nine(9, 1);
    std::vector<std::int64_t> free_one{1, -1, 3};

    EXPECT_EQ(ai::Shape::from(nine).error().message,
              "the shape has 9 dimensions, at most 8 are possible");
    EXPECT_EQ(ai::Shape::from(free_one).error().message,
              "the shape [1,?,3] has a free dimension, a size is needed for each");
}

TEST(TensorBytes, DoNotOverflow)
{
    auto huge = std::numeric_limits<std::uint64_t>::max() / 2;

    EXPECT_EQ(ai::tensor_bytes(ai::DType::kFloat32, ai::Shape(2, 3))->count(), 24U);
    EXPECT_EQ(ai::tensor_bytes(ai::DType::kFloat32, ai::Shape(huge)).error().code, EINVAL);
    EXPECT_EQ(ai::tensor_bytes(ai::DType::kString, ai::Shape(1)).error().code, EINVAL);
    EXPECT_EQ(ai::tensor_bytes(ai::DType::kUndefined, ai::Shape(1)).error().code, EINVAL);
}

TEST(Strings, AreTheTableOfTheInterface)
{
    std::vector<std::string> strings{"ab", "", std::string("\0c", 2)};
    std::vector<std::byte> packed = ai::pack_strings(strings);

    EXPECT_EQ(packed.size(), 4 * 8 + 4U);
    auto unpacked = ai::unpack_strings(packed, 3).or_throw();
    EXPECT_EQ(std::vector<std::string>(unpacked.begin(), unpacked.end()), strings);
    EXPECT_TRUE(ai::unpack_strings(ai::pack_strings({}), 0)->empty());
}

TEST(Strings, RefuseDamagedTables)
{
    std::vector<std::string> strings{"ab", "cd"};
    std::vector<std::byte> packed = ai::pack_strings(strings);

    EXPECT_FALSE(ai::unpack_strings(packed, 4));
    EXPECT_FALSE(ai::unpack_strings({}, 0));
    EXPECT_FALSE(ai::unpack_strings(packed, std::numeric_limits<std::uint64_t>::max()));
    EXPECT_FALSE(ai::unpack_strings(std::span(packed).first(packed.size() - 1), 2));
    packed[8] = std::byte{200}; /* an offset behind the end */
    EXPECT_FALSE(ai::unpack_strings(packed, 2));
    packed[8] = std::byte{2};
    packed[16] = std::byte{1}; /* offsets that go back */
    EXPECT_FALSE(ai::unpack_strings(packed, 2));
    packed[16] = std::byte{4};
    packed[0] = std::byte{1}; /* the first one is 0 */
    EXPECT_FALSE(ai::unpack_strings(packed, 2));
}

TEST(UniqueFd, ClosesOnce)
{
    int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(raw, 0);
    {
        ai::UniqueFd first(raw);
        ai::UniqueFd second(std::move(first));
        EXPECT_FALSE(first.is_valid()); // NOLINT: that is what is tested
        EXPECT_EQ(second.get(), raw);
        ai::UniqueFd third;
        third = std::move(second);
        EXPECT_TRUE(third.is_valid());
    }
    EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

} // namespace
