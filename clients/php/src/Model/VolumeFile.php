<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class VolumeFile
{
    /** @param string|null $path As it was asked for; absent when it is no UTF-8. */
    public function __construct(
        public readonly int $size,
        public readonly string $mode,
        public readonly \DateTimeImmutable $modifiedAt,
        public readonly string $contentB64,
        public readonly ?string $path,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            size: $fields->int('size'),
            mode: $fields->string('mode'),
            modifiedAt: $fields->time('modified_at'),
            contentB64: $fields->string('content_b64'),
            path: $fields->stringOrNull('path'),
        );
    }
}
