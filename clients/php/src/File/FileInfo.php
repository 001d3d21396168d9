<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

use Sandlot\Model\Fields;

/** A file or directory of a sandbox. */
final class FileInfo
{
    /**
     * @param int $size bytes
     * @param int $mode permission bits
     * @param string $permissions the same as ls shows them
     */
    public function __construct(
        public readonly string $name,
        public readonly string $path,
        public readonly FileType $type,
        public readonly int $size,
        public readonly int $mode,
        public readonly string $permissions,
        public readonly string $owner,
        public readonly string $group,
        public readonly \DateTimeImmutable $modifiedAt,
        public readonly ?string $symlinkTarget,
    ) {
    }

    public function isDirectory(): bool
    {
        return $this->type === FileType::Directory;
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            path: $fields->string('path'),
            type: $fields->enumOrNull('type', FileType::Unknown) ?? FileType::Unknown,
            size: $fields->int64('size'),
            mode: $fields->int('mode'),
            permissions: $fields->string('permissions'),
            owner: $fields->string('owner'),
            group: $fields->string('group'),
            modifiedAt: $fields->time('modifiedTime'),
            symlinkTarget: $fields->stringOrNull('symlinkTarget'),
        );
    }
}
