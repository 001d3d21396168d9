<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DeploymentHosts
{
    /**
     * @param DeploymentHostsCondition $condition Whether it answers. `silent`: its Incus does not, and nothing can
     *   be begun there; `down`: nothing on it is reached; `lost`: the operator has given it up.
     * @param \DateTimeImmutable|null $since Since when it has been in a condition other than `up`.
     * @param bool $events Whether its events are listened to.
     * @param bool $memoryLow Whether so little memory is left that it takes no new sandboxes.
     * @param int $poolMb Its storage pool; 0: not known.
     */
    public function __construct(
        public readonly string $name,
        public readonly DeploymentHostsState $state,
        public readonly DeploymentHostsCondition $condition,
        public readonly ?\DateTimeImmutable $since,
        public readonly bool $events,
        public readonly bool $memoryLow,
        public readonly int $sandboxes,
        public readonly int $vcpus,
        public readonly int $usedVcpus,
        public readonly int $memoryMb,
        public readonly int $usedMemoryMb,
        public readonly int $diskOvercommit,
        public readonly int $poolMb,
        public readonly int $poolUsedMb,
        public readonly int $promisedGb,
        public readonly bool $poolNearlyFull,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            state: $fields->enum('state', DeploymentHostsState::class),
            condition: $fields->enum('condition', DeploymentHostsCondition::class),
            since: $fields->timeOrNull('since'),
            events: $fields->bool('events'),
            memoryLow: $fields->bool('memory_low'),
            sandboxes: $fields->int('sandboxes'),
            vcpus: $fields->int('vcpus'),
            usedVcpus: $fields->int('used_vcpus'),
            memoryMb: $fields->int('memory_mb'),
            usedMemoryMb: $fields->int('used_memory_mb'),
            diskOvercommit: $fields->int('disk_overcommit'),
            poolMb: $fields->int('pool_mb'),
            poolUsedMb: $fields->int('pool_used_mb'),
            promisedGb: $fields->int('promised_gb'),
            poolNearlyFull: $fields->bool('pool_nearly_full'),
        );
    }
}
