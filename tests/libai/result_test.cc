/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <ai/result.h>

namespace {

ai::Result<int> half(int value)
{
    if (value % 2)
        return ai::Error{EINVAL, "the value is odd"};
    return value / 2;
}

TEST(Result, HoldsAValue)
{
    ai::Result<std::string> result = std::string("text");

    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result);
    EXPECT_EQ(*result, "text");
    EXPECT_EQ(result->size(), 4U);
    EXPECT_EQ(result.value_or("other"), "text");
}

TEST(Result, HoldsAnError)
{
    ai::Result<int> result = half(3);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, EINVAL);
    EXPECT_EQ(result.value_or(9), 9);
}

TEST(Result, ValueThrowsTheError)
{
    try {
        half(3).value();
        FAIL() << "no exception";
    } catch (const ai::Exception& exception) {
        EXPECT_EQ(exception.code(), EINVAL);
        EXPECT_STREQ(exception.what(), "the value is odd");
    }
    EXPECT_THROW(half(3).or_throw(), ai::Exception);
    EXPECT_EQ(half(4).or_throw(), 2);
}

TEST(Result, MovesWhatCannotBeCopied)
{
    ai::Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    std::unique_ptr<int> owned = std::move(result).value();

    EXPECT_EQ(*owned, 5);
}

TEST(Result, Chains)
{
    EXPECT_EQ(half(8).and_then(half).value(), 2);
    EXPECT_EQ(half(6).and_then(half).error().code, EINVAL);
    EXPECT_EQ(half(8).transform([](int value) { return value + 0.5; }).value(), 4.5);
    EXPECT_EQ(half(3).or_else([](const ai::Error&) { return ai::Result<int>(1); }).value(), 1);
    EXPECT_EQ(half(3)
                  .transform_error([](const ai::Error& error) {
                      return ai::Error{error.code, "here: " + error.message};
                  })
                  .error()
                  .message,
              "here: the value is odd");
    EXPECT_TRUE(half(2).transform([](int) {}).has_value());
}

TEST(Result, OfNothing)
{
    ai::Result<void> good;
    ai::Result<void> bad = ai::Error{EIO, "broken"};

    EXPECT_TRUE(good);
    EXPECT_NO_THROW(good.value());
    EXPECT_FALSE(bad);
    EXPECT_THROW(bad.or_throw(), ai::Exception);
    EXPECT_EQ(good.and_then([] { return half(4); }).value(), 2);
    EXPECT_EQ(bad.and_then([] { return half(4); }).error().code, EIO);
}

TEST(Error, IsNamedBySymbol)
{
    EXPECT_STREQ(ai::error_name(ENOSPC), "ENOSPC");
    EXPECT_STREQ(ai::error_name(99999), "unknown error");
    EXPECT_EQ(ai::to_string(ai::Error{EIO, "broken"}), "broken (EIO)");
}

} // namespace
