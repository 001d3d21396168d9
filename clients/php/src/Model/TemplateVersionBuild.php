<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TemplateVersionBuild
{
    /**
     * @param string $team Slug of the owning team, `deployment` for the deployment's own.
     * @param bool $netAdmin Whether root in its sandboxes may change their interfaces, addresses and routes.
     *   Operators decide it; versions that teams build never may.
     * @param string|null $checkpointId What it was built from; the checkpoint may be gone.
     * @param string|null $image What it was built from. Null for versions of the deployment.
     * @param string $log What the build said, a line a step; an error is the last but one.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly string $template,
        public readonly int $version,
        public readonly RuntimeBaseline $runtimeBaseline,
        public readonly bool $netAdmin,
        public readonly BuildState $state,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?string $checkpointId,
        public readonly ?string $image,
        public readonly ?\DateTimeImmutable $finishedAt,
        public readonly string $log,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            template: $fields->string('template'),
            version: $fields->int('version'),
            runtimeBaseline: $fields->object('runtime_baseline', RuntimeBaseline::read(...)),
            netAdmin: $fields->bool('net_admin'),
            state: $fields->enum('state', BuildState::class),
            createdAt: $fields->time('created_at'),
            checkpointId: $fields->stringOrNull('checkpoint_id'),
            image: $fields->stringOrNull('image'),
            finishedAt: $fields->timeOrNull('finished_at'),
            log: $fields->string('log'),
        );
    }
}
