<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Deployment
{
    /**
     * @param list<DeploymentSandboxes> $sandboxes
     * @param int $pastDeadline Running sandboxes past their deadline.
     * @param list<DeploymentHosts> $hosts
     * @param list<DeploymentOperations> $operations Work in flight, by kind.
     * @param list<DeploymentMoves> $moves Other things than stopped sandboxes that move to another host, or could
     *   not be moved.
     * @param list<DeploymentWarmPool> $warmPool The sizes that creates asked for in the last 15 minutes.
     * @param list<string> $problems The problems, in sentences.
     * @param list<DeploymentPools> $pools Workers' pools of the machine that answers.
     * @param DeploymentEvents $events Events without a number. No reader gets them yet.
     * @param DeploymentArchive|null $archive Copies of paused sandboxes and of checkpoints off the hosts; missing
     *   where there is no archive.
     */
    public function __construct(
        public readonly array $sandboxes,
        public readonly int $pastDeadline,
        public readonly array $hosts,
        public readonly array $operations,
        public readonly array $moves,
        public readonly array $warmPool,
        public readonly array $problems,
        public readonly array $pools,
        public readonly DeploymentEvents $events,
        public readonly DeploymentWebhooks $webhooks,
        public readonly ?DeploymentArchive $archive,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            sandboxes: $fields->objects('sandboxes', DeploymentSandboxes::read(...)),
            pastDeadline: $fields->int('past_deadline'),
            hosts: $fields->objects('hosts', DeploymentHosts::read(...)),
            operations: $fields->objects('operations', DeploymentOperations::read(...)),
            moves: $fields->objects('moves', DeploymentMoves::read(...)),
            warmPool: $fields->objects('warm_pool', DeploymentWarmPool::read(...)),
            problems: $fields->strings('problems'),
            pools: $fields->objects('pools', DeploymentPools::read(...)),
            events: $fields->object('events', DeploymentEvents::read(...)),
            webhooks: $fields->object('webhooks', DeploymentWebhooks::read(...)),
            archive: $fields->objectOrNull('archive', DeploymentArchive::read(...)),
        );
    }
}
