// SPDX-License-Identifier: GPL-2.0-only
#include "onnx_scan.h"

#include <optional>

namespace ai0::npu {

namespace {

enum class Message {
    kModel,
    kGraph,
    kNode,
    kAttribute,
    kTensor,
    kSparseTensor,
    kFunction,
    kTraining
};

/* Fields of onnx.proto that lead to tensors. */
struct Child {
    Message in;
    std::uint32_t field;
    Message type;
};

constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 20, Message::kTraining},
    {Message::kModel, 25, Message::kFunction},
    {Message::kTraining, 1, Message::kGraph},
    {Message::kTraining, 2, Message::kGraph},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
};

constexpr std::uint32_t kModelIrVersion = 1;
constexpr std::uint32_t kModelGraph = 7;
constexpr std::uint32_t kModelLastField = 64;
constexpr std::uint32_t kTensorExternalData = 13;
constexpr std::uint32_t kTensorDataLocation = 14;
/* Deeper than any real model, and less than the engine's own limit. */
constexpr unsigned kMaxDepth = 64;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Scanner {
public:
    explicit Scanner(std::span<const std::byte> model) : model_(model) {}

    ScanResult run()
    {
        if (!message(model_, Message::kModel, 0))
            return result_;
        if (!graph_seen_)
            return bad("the model has no graph; give a complete ONNX file");
        return result_;
    }

private:
    static std::optional<std::uint64_t> varint(std::span<const std::byte>& data)
    {
        std::uint64_t value = 0;

        for (unsigned i = 0; i < 10 && i < data.size(); i++) {
            auto byte = static_cast<std::uint64_t>(data[i]);
            value |= (byte & 127) << (7 * i);
            if (!(byte & 128)) {
                data = data.subspan(i + 1);
                return value;
            }
        }
        return std::nullopt;
    }

    ScanResult bad(std::string sentence)
    {
        result_ = {NPU_ST_BAD_MODEL, std::move(sentence)};
        return result_;
    }

    /* A stream that began like a model and ends too early has been cut off. */
    bool cut(std::uint64_t missing)
    {
        if (!looks_like_model_)
            bad("the artefact is not an ONNX model: its first bytes are no ONNX field");
        else if (missing)
            bad("the model is truncated: a field of it needs " + std::to_string(missing) +
                " bytes more than the " + std::to_string(model_.size()) + " that were given");
        else
            bad("the model is truncated or damaged: " + std::to_string(model_.size()) +
                " bytes were given and end inside a field");
        return false;
    }

    bool damaged()
    {
        if (!looks_like_model_)
            bad("the artefact is not an ONNX model: its first bytes are no ONNX field");
        else
            bad("the model is damaged: it begins like ONNX, then holds what ONNX cannot");
        return false;
    }

    bool message(std::span<const std::byte> data, Message type, unsigned depth)
    {
        if (depth > kMaxDepth) {
            result_ = {NPU_ST_UNSUPPORTED, "the model's graphs are nested more than " +
                                               std::to_string(kMaxDepth) + " messages deep"};
            return false;
        }
        while (!data.empty()) {
            std::optional<std::uint64_t> key = varint(data);
            if (!key)
                return cut(0);
            /* Readers of protocol buffers drop what is above 32 bits, and see another field. */
            if (*key > UINT32_MAX)
                return damaged();
            if (!field(data, type, *key >> 3, static_cast<std::uint32_t>(*key & 7), depth))
                return false;
        }
        return true;
    }

    bool field(std::span<const std::byte>& data, Message type, std::uint64_t number,
               std::uint32_t wire, unsigned depth)
    {
        if (!number || (type == Message::kModel && number > kModelLastField))
            return damaged();
        switch (wire) {
        case kVarint: {
            std::optional<std::uint64_t> value = varint(data);
            if (!value)
                return cut(0);
            if (type == Message::kModel && number == kModelIrVersion && *value > 0 && *value < 1000)
                looks_like_model_ = true;
            if (type == Message::kTensor && number == kTensorDataLocation && *value)
                return external();
            return true;
        }
        case kFixed64:
        case kFixed32: {
            std::size_t bytes = wire == kFixed64 ? 8 : 4;
            if (data.size() < bytes)
                return cut(bytes - data.size());
            data = data.subspan(bytes);
            return true;
        }
        case kBytes: {
            std::optional<std::uint64_t> bytes = varint(data);
            if (!bytes)
                return cut(0);
            if (*bytes > data.size())
                return *bytes > 0x7fffffff ? damaged() : cut(*bytes - data.size());
            std::span<const std::byte> inside = data.first(*bytes);
            data = data.subspan(*bytes);
            if (type == Message::kTensor && number == kTensorExternalData)
                return external();
            return child(inside, type, number, depth);
        }
        default:
            return damaged();
        }
    }

    bool child(std::span<const std::byte> data, Message type, std::uint64_t number, unsigned depth)
    {
        if (type == Message::kModel && number == kModelGraph)
            graph_seen_ = true;
        for (const Child& child : kChildren)
            if (child.in == type && child.field == number)
                return message(data, child.type, depth + 1);
        return true;
    }

    bool external()
    {
        result_ = {NPU_ST_UNSUPPORTED,
                   "the model keeps tensors in files beside it, which a device cannot read; save "
                   "it with all data inside"};
        return false;
    }

    std::span<const std::byte> model_;
    ScanResult result_;
    bool looks_like_model_ = false;
    bool graph_seen_ = false;
};

} // namespace

ScanResult scan_onnx(std::span<const std::byte> model)
{
    return Scanner(model).run();
}

} // namespace ai0::npu
