<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TemplateVersion
{
    /**
     * @param string $team Slug of the owning team, `deployment` for the deployment's own.
     * @param bool $netAdmin Whether root in its sandboxes may change their interfaces, addresses and routes.
     *   Operators decide it; versions that teams build never may.
     * @param list<string> $tags The tags that point to it.
     * @param int|null $sizeMb The storage on a host's disk: the stored image, or the storage that a checkpoint took
     *   in addition to its template. null: not measured.
     * @param TemplateVersionStart|null $start How its start command comes to run in a new sandbox. `memory`: it runs
     *   already, because the sandbox continues with memory that the build has kept; a sandbox of another size, with
     *   volumes, or on another host runs the command instead. `command`: the agent runs it. null: it has none, or the
     *   build is not over.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly string $template,
        public readonly int $version,
        public readonly Isolation $isolation,
        public readonly RuntimeBaseline $runtimeBaseline,
        public readonly bool $netAdmin,
        public readonly BuildState $state,
        public readonly array $tags,
        public readonly ?int $sizeMb,
        public readonly ?TemplateVersionStart $start,
        public readonly \DateTimeImmutable $createdAt,
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
            isolation: $fields->enum('isolation', Isolation::class),
            runtimeBaseline: $fields->object('runtime_baseline', RuntimeBaseline::read(...)),
            netAdmin: $fields->bool('net_admin'),
            state: $fields->enum('state', BuildState::class),
            tags: $fields->strings('tags'),
            sizeMb: $fields->intOrNull('size_mb'),
            start: $fields->enumOrNull('start', TemplateVersionStart::class),
            createdAt: $fields->time('created_at'),
        );
    }
}
