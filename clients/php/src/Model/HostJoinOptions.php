<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Settings from the operator; 0: the machine decides. */
final class HostJoinOptions
{
    public function __construct(
        public readonly string $range,
        public readonly string $network,
        public readonly string $nicPrefix,
        public readonly string $project,
        public readonly string $pool,
        public readonly int $vcpus,
        public readonly int $memoryMb,
        public readonly int $memoryOvercommit,
        public readonly int $diskOvercommit,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            range: $fields->string('range'),
            network: $fields->string('network'),
            nicPrefix: $fields->string('nic_prefix'),
            project: $fields->string('project'),
            pool: $fields->string('pool'),
            vcpus: $fields->int('vcpus'),
            memoryMb: $fields->int('memory_mb'),
            memoryOvercommit: $fields->int('memory_overcommit'),
            diskOvercommit: $fields->int('disk_overcommit'),
        );
    }
}
