/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npy_file.h"

namespace {

using ai_run::HostTensor;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(const std::string& text)
{
    std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/* Version 1.0 with this header and these elements. */
std::vector<std::byte> npy(const std::string& header, const std::string& elements = "")
{
    std::string file = "\x93NUMPY";
    file += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
    return bytes_of(file + header + elements);
}

ai::Error error_of(const std::vector<std::byte>& file)
{
    auto tensor = ai_run::parse_npy(file, "x.npy");
    EXPECT_FALSE(tensor);
    return tensor ? ai::Error{} : tensor.error();
}

TEST(Npy, ReadsWhatNumPyWrites)
{
    auto tensor =
        ai_run::parse_npy(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }   \n",
                              std::string("\x01\x00\xff\xff", 4)),
                          "x.npy");

    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype, ai::DType::kInt16);
    EXPECT_EQ(tensor->shape, ai::Shape(2, 1));
    EXPECT_EQ(tensor->data.size(), 4U);
}

TEST(Npy, ReadsScalarsAndKeysInAnyOrder)
{
    auto tensor = ai_run::parse_npy(
        npy("{'shape': (), 'descr': '|b1', 'fortran_order': False}", "\x01"), "x.npy");

    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype, ai::DType::kBool);
    EXPECT_EQ(tensor->shape, ai::Shape());
}

TEST(Npy, ReadsVersionTwo)
{
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}\n";
    std::string file = "\x93NUMPY";
    file += {'\x02', '\x00', static_cast<char>(header.size()), '\x00', '\x00', '\x00'};
    auto tensor = ai_run::parse_npy(bytes_of(file + header + "abc"), "x.npy");

    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->shape, ai::Shape(3));
}

TEST(Npy, WritesWhatItReads)
{
    for (std::uint32_t type = 1; type <= 15; type++) {
        auto dtype = static_cast<ai::DType>(type);
        if (dtype == ai::DType::kString)
            continue;
        HostTensor tensor{"", dtype, ai::Shape(2, 3), {}};
        for (std::size_t i = 0; i < 6 * ai::element_bytes(dtype); i++)
            tensor.data.push_back(static_cast<std::byte>(i));
        auto file = ai_run::format_npy(tensor).or_throw();
        auto read = ai_run::parse_npy(file, "x.npy").or_throw();
        EXPECT_EQ((file.size() - tensor.data.size()) % 64, 0U);
        EXPECT_EQ(read.dtype, dtype);
        EXPECT_EQ(read.shape, tensor.shape);
        EXPECT_EQ(read.data, tensor.data);
    }
}

TEST(Npy, RefusesToWriteWhatNumPyHasNoTypeFor)
{
    HostTensor tensor{"", ai::DType::kBfloat16, ai::Shape(1), std::vector<std::byte>(2)};

    EXPECT_EQ(ai_run::format_npy(tensor).error().code, EOPNOTSUPP);
}

TEST(Npy, RefusesOtherFiles)
{
    EXPECT_EQ(error_of({}).code, EBADMSG);
    EXPECT_EQ(error_of(bytes_of("PK\x03\x04 something else altogether")).code, EBADMSG);
    EXPECT_EQ(error_of(bytes_of("\x93NUMPY")).code, EBADMSG);
    EXPECT_EQ(error_of(npy("{'descr': '<f4'}")).code, EBADMSG);
    EXPECT_EQ(error_of(npy("nothing")).code, EBADMSG);
    EXPECT_EQ(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,")).code, EBADMSG);
    EXPECT_EQ(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (a)}")).code,
              EBADMSG);
}

TEST(Npy, EachTruncationIsRefused)
{
    auto whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678");

    ASSERT_TRUE(ai_run::parse_npy(whole, "x.npy"));
    for (std::size_t size = 0; size < whole.size(); size++)
        EXPECT_FALSE(ai_run::parse_npy(std::span(whole).first(size), "x.npy")) << size;
}

TEST(Npy, RefusesShapesThatCannotBe)
{
    auto with_shape = [](const std::string& shape) {
        return error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}"));
    };

    EXPECT_THAT(with_shape("(4294967296, 4294967296, 4)").message, HasSubstr("2^64"));
    EXPECT_EQ(with_shape("(99999999999999999999999,)").code, EBADMSG);
    EXPECT_EQ(with_shape("(-1,)").code, EBADMSG);
    EXPECT_THAT(with_shape("(1,1,1,1,1,1,1,1,1)").message, HasSubstr("9 dimensions"));
    EXPECT_THAT(with_shape("(1000000,)").message, HasSubstr("takes 4000000"));
}

TEST(Npy, RefusesOtherElements)
{
    auto with_type = [](const std::string& type) {
        return error_of(npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (1,)}"));
    };

    EXPECT_EQ(with_type(">f4").code, EOPNOTSUPP);
    EXPECT_EQ(with_type("|O").code, EOPNOTSUPP);
    EXPECT_EQ(with_type("<U5").code, EOPNOTSUPP);
    EXPECT_EQ(with_type("").code, EOPNOTSUPP);
    EXPECT_THAT(
        error_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,1)}", "1234")).message,
        HasSubstr("Fortran order"));
}

} // namespace
