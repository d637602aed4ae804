/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>

#include "fixture.h"

namespace {

using testing::HasSubstr;

class TensorTest : public WithKernel {
protected:
    ai::Session session = open();
};

TEST_F(TensorTest, BufferIsMappedAndGivenBack)
{
    auto buffer = ai::Buffer::allocate(session, ai::Bytes(5000)).or_throw();

    EXPECT_EQ(buffer->size(), ai::Bytes(8192));
    EXPECT_EQ(buffer->data().size(), 8192U);
    buffer->data()[8191] = std::byte{1};
    EXPECT_EQ(kernel->live_ranges(), 1U);
    buffer.reset();
    EXPECT_EQ(kernel->live_ranges(), 0U);
}

TEST_F(TensorTest, AllocationPassesTheSentenceOn)
{
    auto buffer = ai::Buffer::allocate(session, ai::Bytes(0));

    EXPECT_EQ(buffer.error().code, EINVAL);
    EXPECT_EQ(buffer.error().message, "bytes is 0, at least 1 is needed");
}

TEST_F(TensorTest, ShowsThePages)
{
    auto tensor = ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(2, 3)).or_throw();
    std::span<float> values = tensor.span<float>().value();

    ASSERT_EQ(values.size(), 6U);
    values[5] = 1.5F;
    EXPECT_EQ(static_cast<void*>(values.data()),
              static_cast<void*>(tensor.buffer()->data().data()));
    EXPECT_EQ(tensor.bytes(), ai::Bytes(24));
    EXPECT_EQ(tensor.capacity(), ai::Bytes(4096));
}

TEST_F(TensorTest, RefusesAnotherElementType)
{
    auto tensor = ai::Tensor::allocate(session, ai::DType::kInt8, ai::Shape(4)).or_throw();

    EXPECT_EQ(tensor.span<float>().error().message,
              "the tensor has elements of int8, a span of float32 was asked for");
    EXPECT_TRUE(tensor.span<std::int8_t>());
    EXPECT_FALSE(tensor.strings());
}

TEST_F(TensorTest, CopiesShareTheBuffer)
{
    auto tensor = ai::Tensor::allocate(session, ai::DType::kUint8, ai::Shape(4)).or_throw();
    ai::Tensor copy = tensor;

    copy.span<std::uint8_t>().value()[0] = 9;
    EXPECT_EQ(tensor.span<std::uint8_t>().value()[0], 9);
    tensor = ai::Tensor();
    EXPECT_EQ(kernel->live_ranges(), 1U);
    copy = ai::Tensor();
    EXPECT_EQ(kernel->live_ranges(), 0U);
}

TEST_F(TensorTest, ViewsLieWhereTheyAreTold)
{
    auto buffer = ai::Buffer::allocate(session, ai::Bytes(4096)).or_throw();
    auto view = ai::Tensor::view(buffer, ai::Bytes(64), ai::DType::kInt64, ai::Shape(2)).or_throw();

    EXPECT_EQ(view.data().data(), buffer->data().data() + 64);
    EXPECT_EQ(view.capacity(), ai::Bytes(16));
}

TEST_F(TensorTest, ViewsMustFit)
{
    auto buffer = ai::Buffer::allocate(session, ai::Bytes(4096)).or_throw();
    auto view = [&](std::uint64_t offset, ai::Shape shape) {
        return ai::Tensor::view(buffer, ai::Bytes(offset), ai::DType::kFloat32, shape);
    };

    EXPECT_TRUE(view(4092, ai::Shape(1)));
    EXPECT_THAT(view(4096, ai::Shape(1)).error().message, HasSubstr("has 4096 bytes in all"));
    EXPECT_FALSE(view(~0ULL - 3, ai::Shape(1)));
    EXPECT_FALSE(view(0, ai::Shape(1025)));
    EXPECT_THAT(view(2, ai::Shape(1)).error().message, HasSubstr("need a multiple of 4"));
    EXPECT_FALSE(ai::Tensor::view(nullptr, ai::Bytes(0), ai::DType::kFloat32, ai::Shape(1)));
    EXPECT_FALSE(ai::Tensor::room(buffer, ai::Bytes(0), ai::DType::kUndefined, ai::Bytes(8)));
}

TEST_F(TensorTest, WithoutElementsTakesNoMemory)
{
    auto tensor = ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(3, 0)).or_throw();

    EXPECT_EQ(kernel->live_ranges(), 0U);
    EXPECT_TRUE(tensor.span<float>().value().empty());
    EXPECT_EQ(tensor.elements(), 0U);
}

TEST_F(TensorTest, ScalarHasOneElement)
{
    auto tensor = ai::Tensor::allocate(session, ai::DType::kFloat64, ai::Shape()).or_throw();

    EXPECT_EQ(tensor.span<double>().value().size(), 1U);
}

TEST_F(TensorTest, HoldsStrings)
{
    std::vector<std::string> strings{"monday", "", "tuesday"};
    auto tensor = ai::Tensor::from_strings(session, ai::Shape(3), strings).or_throw();

    auto read = tensor.strings().or_throw();
    EXPECT_EQ(std::vector<std::string>(read.begin(), read.end()), strings);
    EXPECT_FALSE(ai::Tensor::from_strings(session, ai::Shape(4), strings));
    EXPECT_FALSE(ai::Tensor::allocate(session, ai::DType::kString, ai::Shape(3)));
}

} // namespace
