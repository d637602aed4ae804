/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include "pb_file.h"

namespace {

using ai_run::HostTensor;
using testing::HasSubstr;

class Pb : public testing::Test {
protected:
    google::protobuf::LogSilencer silence;
    onnx::TensorProto proto;

    ai::Result<HostTensor> parsed() const
    {
        std::string text = proto.SerializeAsString();
        return ai_run::parse_pb(std::as_bytes(std::span(text)), "x.pb");
    }
};

TEST_F(Pb, WritesWhatItReads)
{
    HostTensor tensor{"x", ai::DType::kFloat32, ai::Shape(2, 1), std::vector<std::byte>(8)};
    auto read = ai_run::parse_pb(ai_run::format_pb(tensor).or_throw(), "x.pb").or_throw();

    EXPECT_EQ(read.name, "x");
    EXPECT_EQ(read.dtype, tensor.dtype);
    EXPECT_EQ(read.shape, tensor.shape);
    EXPECT_EQ(read.data, tensor.data);
}

TEST_F(Pb, KeepsStrings)
{
    proto.set_data_type(onnx::TensorProto::STRING);
    proto.add_dims(2);
    proto.add_string_data("monday");
    proto.add_string_data("");
    auto tensor = parsed().or_throw();
    auto again = ai_run::parse_pb(ai_run::format_pb(tensor).or_throw(), "x.pb").or_throw();

    EXPECT_THAT(ai::unpack_strings(again.data, 2).value(), testing::ElementsAre("monday", ""));
    proto.add_string_data("too many");
    EXPECT_THAT(parsed().error().message, HasSubstr("has 3 strings"));
}

TEST_F(Pb, ReadsEachFieldOfElements)
{
    struct Row {
        int type;
        std::size_t bytes;
    };
    for (auto [type, bytes] : {Row{onnx::TensorProto::INT32, 4}, Row{onnx::TensorProto::INT16, 2},
                               Row{onnx::TensorProto::INT8, 1}, Row{onnx::TensorProto::BOOL, 1},
                               Row{onnx::TensorProto::FLOAT16, 2}}) {
        proto.Clear();
        proto.set_data_type(type);
        proto.add_dims(1);
        proto.add_int32_data(1);
        auto tensor = parsed();
        ASSERT_TRUE(tensor) << tensor.error().message;
        EXPECT_EQ(tensor->data.size(), bytes);
        EXPECT_EQ(tensor->data[0], std::byte{1});
    }
    proto.Clear();
    proto.set_data_type(onnx::TensorProto::UINT32);
    proto.add_dims(1);
    proto.add_uint64_data(7);
    EXPECT_EQ(parsed()->data.size(), 4U);
    proto.Clear();
    proto.set_data_type(onnx::TensorProto::COMPLEX64);
    proto.add_float_data(1);
    proto.add_float_data(2);
    EXPECT_EQ(parsed()->data.size(), 8U);
}

TEST_F(Pb, RefusesWhatDoesNotFit)
{
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.add_dims(3);
    proto.set_raw_data(std::string(8, '\0'));
    EXPECT_THAT(parsed().error().message, HasSubstr("has 8 bytes of elements"));

    proto.clear_raw_data();
    proto.add_float_data(1);
    EXPECT_EQ(parsed().error().code, EBADMSG);

    proto.set_dims(0, -3);
    EXPECT_EQ(parsed().error().code, EBADMSG);

    proto.set_dims(0, 1LL << 40);
    proto.add_dims(1LL << 40);
    EXPECT_THAT(parsed().error().message, HasSubstr("2^64"));
}

TEST_F(Pb, RefusesOtherElements)
{
    EXPECT_EQ(parsed().error().code, EBADMSG); /* no type at all */
    proto.set_data_type(17);
    EXPECT_EQ(parsed().error().code, EOPNOTSUPP);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    EXPECT_THAT(parsed().error().message, HasSubstr("in another file"));
}

TEST_F(Pb, EachTruncationIsRefused)
{
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.add_dims(4);
    proto.set_raw_data(std::string(16, 'x'));
    std::string whole = proto.SerializeAsString();
    std::span<const std::byte> bytes = std::as_bytes(std::span(whole));

    ASSERT_TRUE(ai_run::parse_pb(bytes, "x.pb"));
    for (std::size_t size = 0; size < bytes.size(); size++)
        EXPECT_FALSE(ai_run::parse_pb(bytes.first(size), "x.pb")) << size;
}

TEST_F(Pb, RefusesOtherFiles)
{
    EXPECT_EQ(ai_run::read_pb("/nowhere.pb").error().code, ENOENT);
    std::string text = "\x93NUMPY this is something else";
    EXPECT_EQ(ai_run::parse_pb(std::as_bytes(std::span(text)), "x.pb").error().code, EBADMSG);
}

} // namespace
