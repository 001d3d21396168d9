<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UsageStorage
{
    /**
     * @param float $gbSeconds Stopped sandboxes count by the size of their disks, checkpoints by the storage that
     *   they take, and volumes by their size.
     * @param list<UsageStorageSize> $sizes
     */
    public function __construct(
        public readonly float $gbSeconds,
        public readonly array $sizes,
        public readonly UsageStorageCheckpoints $checkpoints,
        public readonly UsageStorageVolumes $volumes,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            gbSeconds: $fields->float('gb_seconds'),
            sizes: $fields->objects('sizes', UsageStorageSize::read(...)),
            checkpoints: $fields->object('checkpoints', UsageStorageCheckpoints::read(...)),
            volumes: $fields->object('volumes', UsageStorageVolumes::read(...)),
        );
    }
}
