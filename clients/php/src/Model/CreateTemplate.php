<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateTemplate implements \JsonSerializable
{
    /**
     * @param string|null $team Slug; default: the personal team of the key's user, or else the only one that the key
     *   reaches.
     * @param string|null $checkpointId A checkpoint of the team. Give one of this, `image`, `template`, `from_image`
     *   and `dockerfile`.
     * @param string|null $image An image of the hosts that the operator has opened to teams. Give one of this,
     *   `checkpoint_id`, `template`, `from_image` and `dockerfile`.
     * @param string|null $fromImage An OCI image, as `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`. A sandbox of the team
     *   fetches and unpacks it, with the team's network and disk; then `steps` run. Give one of this, `checkpoint_id`,
     *   `image`, `template` and `dockerfile`.
     * @param string|null $template A template, as a create names it, that `steps` begin with. Give one of this,
     *   `checkpoint_id`, `image`, `from_image` and `dockerfile`.
     * @param string|null $dockerfile The text of a Dockerfile: its instructions are the steps, and `FROM` names an
     *   image or a template. An error names the line and the column. Give one of this, `checkpoint_id`, `image`,
     *   `template` and `from_image`.
     * @param string|null $context With a `dockerfile` that copies files: the hash of an archive of its context,
     *   uploaded by `PUT /v1/template_files/{hash}`.
     * @param array<string, string>|null $buildArgs With `dockerfile`: values of its `ARG`.
     * @param string|null $target With `dockerfile`: the stage to build, by its name or its number from 0. Default:
     *   the last one.
     * @param list<TemplateStep>|null $steps With `template` or `from_image`: the steps that run in a sandbox of this
     *   template or image, one after another, before its disk becomes the version. The sandbox counts in the team's
     *   quota. All steps together have an hour, or the plan's longest timeout if that is less.
     * @param string|null $startCommand With `template`, `from_image` or `dockerfile`: a line for the shell that runs
     *   in each sandbox that is made from the version, from its beginning. A create does not wait for it. It also runs
     *   in the build, which fails when it ends with a status other than 0 before the ready command succeeds, or,
     *   without one, within two seconds.
     * @param list<ServiceRequest>|null $services With `template`, `from_image` or `dockerfile`: services of each
     *   sandbox that is made from the version, instead of those of the base. They start in the build too, before the
     *   ready command. Their variables can be read inside the sandboxes, like those of a step `env`.
     * @param string|null $readyCommand With `template`, `from_image` or `dockerfile`: the build starts the start
     *   command, and fails when this line does not succeed within five minutes.
     * @param bool|null $startImageCommand With `template`, `from_image` or `dockerfile`: the start command is the
     *   entry point of the image or the Dockerfile, followed by its command.
     * @param bool|null $noCache With `template`, `from_image` or `dockerfile`: run all steps, also those that an
     *   earlier build of the team has run on the same base with the same files.
     * @param list<string>|null $tags With `template`, `from_image` or `dockerfile`: tags that point to the version
     *   once it is ready.
     * @param RuntimeBaselineRequest|null $runtimeBaseline Default: that of the checkpoint, or of the plan.
     */
    public function __construct(
        public readonly string $slug,
        public readonly ?string $team = null,
        public readonly ?string $checkpointId = null,
        public readonly ?string $image = null,
        public readonly ?string $fromImage = null,
        public readonly ?RegistryLogin $registryLogin = null,
        public readonly ?string $template = null,
        public readonly ?string $dockerfile = null,
        public readonly ?string $context = null,
        public readonly ?array $buildArgs = null,
        public readonly ?string $target = null,
        public readonly ?array $steps = null,
        public readonly ?string $startCommand = null,
        public readonly ?array $services = null,
        public readonly ?string $readyCommand = null,
        public readonly ?bool $startImageCommand = null,
        public readonly ?bool $noCache = null,
        public readonly ?array $tags = null,
        public readonly ?RuntimeBaselineRequest $runtimeBaseline = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'slug' => $this->slug,
            'team' => $this->team,
            'checkpoint_id' => $this->checkpointId,
            'image' => $this->image,
            'from_image' => $this->fromImage,
            'registry_login' => $this->registryLogin,
            'template' => $this->template,
            'dockerfile' => $this->dockerfile,
            'context' => $this->context,
            'build_args' => Members::map($this->buildArgs),
            'target' => $this->target,
            'steps' => $this->steps,
            'start_command' => $this->startCommand,
            'services' => $this->services,
            'ready_command' => $this->readyCommand,
            'start_image_command' => $this->startImageCommand,
            'no_cache' => $this->noCache,
            'tags' => $this->tags,
            'runtime_baseline' => $this->runtimeBaseline,
        ]);
    }
}
