<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class VolumeEntry
{
    /**
     * @param int $size Of a file, in bytes; else 0.
     * @param \DateTimeImmutable $accessedAt Last read, as far as the file system notes it.
     * @param \DateTimeImmutable $changedAt Last change of its content, owner or mode.
     * @param string|null $path As it was asked for; absent when it is no UTF-8.
     * @param string|null $target Where a symbolic link points.
     * @param string|null $targetB64 Its bytes, when it is no UTF-8; `target` then has U+FFFD in it.
     */
    public function __construct(
        public readonly EntryType $type,
        public readonly int $size,
        public readonly string $mode,
        public readonly int $uid,
        public readonly int $gid,
        public readonly \DateTimeImmutable $accessedAt,
        public readonly \DateTimeImmutable $modifiedAt,
        public readonly \DateTimeImmutable $changedAt,
        public readonly ?string $path,
        public readonly ?string $target,
        public readonly ?string $targetB64,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            type: $fields->enum('type', EntryType::class),
            size: $fields->int('size'),
            mode: $fields->string('mode'),
            uid: $fields->int('uid'),
            gid: $fields->int('gid'),
            accessedAt: $fields->time('accessed_at'),
            modifiedAt: $fields->time('modified_at'),
            changedAt: $fields->time('changed_at'),
            path: $fields->stringOrNull('path'),
            target: $fields->stringOrNull('target'),
            targetB64: $fields->stringOrNull('target_b64'),
        );
    }
}
