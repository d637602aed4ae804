// SPDX-License-Identifier: GPL-2.0-only
#include "engine_error.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace ai0::npu {

namespace {

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

/* A word of a source location: a path to a source file, with a line number behind it. */
bool is_location(std::string_view word)
{
    return contains(word, ".cc:") || contains(word, ".h:") || contains(word, ".cpp:") ||
           contains(word, "onnxruntime_src/") || contains(word, "onnxruntime::");
}

/* "[ONNXRuntimeError] : 10 : INVALID_GRAPH : " and the like at the beginning. */
std::string_view without_code(std::string_view text)
{
    constexpr std::string_view kPrefix = "[ONNXRuntimeError] : ";
    std::size_t at = text.find(kPrefix);

    if (at == std::string_view::npos)
        return text;
    text.remove_prefix(at + kPrefix.size());
    for (int i = 0; i < 2; i++) {
        at = text.find(" : ");
        if (at > 32) /* or nowhere */
            break;
        text.remove_prefix(at + 3);
    }
    return text;
}

std::string words_of(std::string_view text)
{
    std::string out;
    bool after_location = false;
    bool in_brackets = false; /* [with T = float], of a signature */

    while (!text.empty()) {
        std::size_t end = 0;
        while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end])))
            end++;
        std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(text.size(), end + 1));
        if (word.empty())
            continue;
        if (is_location(word)) {
            after_location = true;
            continue;
        }
        if (after_location && word == "[with")
            in_brackets = true;
        if (in_brackets) {
            in_brackets = !word.ends_with(']');
            continue;
        }
        /* What follows a location up to the message: the function's signature. */
        if (after_location && (contains(word, "(") || contains(word, "::")))
            continue;
        after_location = false;
        if (!out.empty())
            out += ' ';
        for (char c : word)
            out += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
    }
    return out;
}

} // namespace

std::string engine_sentence(std::string_view what)
{
    constexpr std::string_view kNoise[] = {
        "Load model from memory failed:",
        "Load model failed:",
        "Non-zero status code returned while running ",
        "This is an invalid model. ",
        "Exception during initialization: ",
        "Fatal error: ",
        "Error: ",
    };
    std::string text(without_code(what));

    for (std::string_view noise : kNoise) {
        std::size_t at = text.find(noise);
        if (at != std::string::npos)
            text.erase(at, noise.size());
    }
    text = words_of(text);
    while (!text.empty() && (text.front() == ' ' || text.front() == ':'))
        text.erase(0, 1);
    if (text.size() >= NPU_MESSAGE_BYTES) {
        text.resize(NPU_MESSAGE_BYTES - 4);
        text += "...";
    }
    return text.empty() ? "the engine gave no reason" : text;
}

/*
 * Of a well-formed file that ONNX Runtime refuses: a graph that contradicts
 * itself is a bad model, anything it merely cannot do is unsupported.
 */
npu_status compile_status(const Ort::Exception& error)
{
    std::string_view what = error.what();

    switch (error.GetOrtErrorCode()) {
    case ORT_INVALID_PROTOBUF:
    case ORT_NO_MODEL:
        return NPU_ST_BAD_MODEL;
    case ORT_INVALID_GRAPH:
        if (contains(what, "not a registered") || contains(what, "No Op registered") ||
            contains(what, "is invalid.") || contains(what, "opset") ||
            contains(what, "Type Error"))
            return NPU_ST_UNSUPPORTED;
        return NPU_ST_BAD_MODEL;
    default:
        if (contains(what, "bad_alloc") || contains(what, "Failed to allocate"))
            return NPU_ST_NO_MEMORY;
        return NPU_ST_UNSUPPORTED;
    }
}

npu_status run_status(const Ort::Exception& error)
{
    std::string_view what = error.what();

    if (contains(what, "bad_alloc") || contains(what, "Failed to allocate"))
        return NPU_ST_NO_MEMORY;
    return error.GetOrtErrorCode() == ORT_INVALID_ARGUMENT ? NPU_ST_BAD_TENSOR : NPU_ST_ENGINE;
}

void set_message(std::span<char> message, std::string_view text)
{
    std::size_t n = std::min(text.size(), message.size() - 1);

    std::memset(message.data(), 0, message.size());
    std::memcpy(message.data(), text.data(), n);
}

} // namespace ai0::npu
