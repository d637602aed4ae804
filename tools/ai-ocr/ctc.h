/* SPDX-License-Identifier: Apache-2.0 */
/* From the recognition model's output to text (connectionist temporal classification). */
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ai/result.h>

namespace ai_ocr {

/*
 * What each class of the model stands for: 0 is "no character", then the lines of the
 * dictionary, then a space.
 */
class Alphabet {
public:
    explicit Alphabet(std::vector<std::string> characters);

    /* A file with one character a line, in UTF-8. */
    static ai::Result<Alphabet> read(const std::string& path);

    std::size_t classes() const { return characters_.size(); }
    const std::string& operator[](std::size_t i) const { return characters_[i]; }

private:
    std::vector<std::string> characters_;
};

struct Text {
    std::string text;     /* UTF-8 */
    float confidence = 0; /* mean probability of its characters; 0 without any */
};

/*
 * @probability has a row of alphabet.classes() for each step from left to right. The
 * likeliest class of each step counts, repetitions once.
 */
Text decode_greedily(std::span<const float> probability, const Alphabet& alphabet);

/* Whether there is nothing to see: no character but spaces, wide ones (U+3000) included. */
bool is_blank(std::string_view text);

} // namespace ai_ocr
