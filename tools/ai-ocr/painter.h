/* SPDX-License-Identifier: Apache-2.0 */
/* Text in any script into a picture, with FreeType. */
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <opencv2/core.hpp>

#include <ai/result.h>

namespace ai_ocr {

class Painter {
public:
    /* @font: a TrueType or OpenType file. */
    static ai::Result<Painter> open(const std::string& font);

    Painter(Painter&&) noexcept;
    Painter& operator=(Painter&&) noexcept;
    ~Painter();

    /* Width in pixels of a line of UTF-8 text whose letters are @height pixels high. */
    int width(std::string_view text, int height);

    /* Its baseline begins at @origin. What is outside the picture is left out. */
    void draw(cv::Mat& image, std::string_view text, cv::Point origin, int height,
              const cv::Scalar& colour);

private:
    struct Impl;
    explicit Painter(std::unique_ptr<Impl> impl);

    std::unique_ptr<Impl> impl_;
};

/* Code points of UTF-8 text; what is malformed becomes U+FFFD. */
std::u32string code_points(std::string_view text);

} // namespace ai_ocr
