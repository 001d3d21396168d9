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
     * @param list<string> $tags The tags that point to it.
     * @param int|null $sizeMb The storage on a host's disk: the stored image, or the storage that a checkpoint took
     *   in addition to its template. null: not measured.
     * @param TemplateVersionStart|null $start How its start command comes to run in a new sandbox. `memory`: it runs
     *   already, because the sandbox continues with memory that the build has kept; a sandbox of another size, with
     *   volumes, or on another host runs the command instead. `command`: the agent runs it. null: it has none, or the
     *   build is not over.
     * @param string|null $checkpointId The source of the build; the checkpoint may be deleted.
     * @param string|null $image The source of the build. Null for versions of other teams and of the deployment.
     * @param string|null $fromImage The OCI image that it was built from. Null for versions of other teams.
     * @param TemplateImageConfig|null $imageConfig The configuration of the OCI image from which the version, or the
     *   template before its steps, was built, with the changes of a Dockerfile. Null without such an image or a
     *   Dockerfile, and for versions of other teams.
     * @param string $log The log of the build, a line a step; an error is the last but one. Empty for versions of
     *   other teams.
     * @param list<TemplateStepProgress> $steps The progress of the steps, with those that fetch images. Empty for a
     *   version without steps, and for versions of other teams.
     * @param string|null $baseVersion The version that its steps began with. Null where there were none, with
     *   `from_image`, and for versions of other teams.
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
        public readonly ?string $checkpointId,
        public readonly ?string $image,
        public readonly ?string $fromImage,
        public readonly ?TemplateImageConfig $imageConfig,
        public readonly ?\DateTimeImmutable $finishedAt,
        public readonly string $log,
        public readonly array $steps,
        public readonly ?string $baseVersion,
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
            checkpointId: $fields->stringOrNull('checkpoint_id'),
            image: $fields->stringOrNull('image'),
            fromImage: $fields->stringOrNull('from_image'),
            imageConfig: $fields->objectOrNull('image_config', TemplateImageConfig::read(...)),
            finishedAt: $fields->timeOrNull('finished_at'),
            log: $fields->string('log'),
            steps: $fields->objects('steps', TemplateStepProgress::read(...)),
            baseVersion: $fields->stringOrNull('base_version'),
        );
    }
}
