<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TemplateFile
{
    public function __construct(
        public readonly string $hash,
        public readonly int $size,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            hash: $fields->string('hash'),
            size: $fields->int('size'),
        );
    }
}
