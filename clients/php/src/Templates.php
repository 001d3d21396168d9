<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Exception\WaitException;
use Sandlot\Http\Api;
use Sandlot\Model\AssignTemplateTag;
use Sandlot\Model\BuildState;
use Sandlot\Model\CreatedTemplate;
use Sandlot\Model\CreateTemplate;
use Sandlot\Model\CreateTemplateVersion;
use Sandlot\Model\Operation;
use Sandlot\Model\RegistryLogin;
use Sandlot\Model\RuntimeBaselineRequest;
use Sandlot\Model\ServiceRequest;
use Sandlot\Model\Template;
use Sandlot\Model\TemplateFile;
use Sandlot\Model\TemplateStep;
use Sandlot\Model\TemplateTag;
use Sandlot\Model\TemplateVersion;
use Sandlot\Model\TemplateVersionBuild;
use Sandlot\Model\UpdateTemplate;
use Sandlot\Model\UploadTemplateFile;

/** Templates of sandboxes: those of the deployment, and those that teams build. */
final class Templates
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    /** @return list<Template> */
    public function list(?string $team = null): array
    {
        return $this->api
            ->call(Operation::ListTemplates, query: ['team' => $team])
            ->objects('templates', Template::read(...));
    }

    public function get(string $slug, ?string $team = null): Template
    {
        return Template::read($this->api->call(Operation::ShowTemplate, ['slug' => $slug], ['team' => $team]));
    }

    /**
     * Creates a template and builds its first version, from a checkpoint, an image of the hosts, an OCI image, a
     * Dockerfile, or a template and steps. waitUntilBuilt() waits until it is ready.
     *
     * @param string|null $image an image of the hosts
     * @param list<TemplateStep>|null $steps with $template or $fromImage
     * @param list<string>|null $tags
     * @param string|null $fromImage an OCI image, such as docker.io/library/node:22
     * @param string|null $dockerfile its text
     * @param string|null $context with $dockerfile: the hash of an archive of its files, see upload()
     * @param array<string, string>|null $buildArgs values of the Dockerfile's ARG
     * @param array<string, string>|null $secrets values of RUN --mount=type=secret, by their ids
     * @param string|null $target the stage of the Dockerfile to build
     * @param bool|null $startImageCommand true: sandboxes run the entry point and the command of the image
     * @param list<ServiceRequest>|null $services
     * @param bool|null $noCache true: run all steps
     */
    public function create(
        string $slug,
        ?string $checkpointId = null,
        ?string $image = null,
        ?string $team = null,
        ?RuntimeBaselineRequest $runtimeBaseline = null,
        ?string $template = null,
        ?array $steps = null,
        ?string $startCommand = null,
        ?string $readyCommand = null,
        ?array $tags = null,
        ?string $fromImage = null,
        #[\SensitiveParameter] ?RegistryLogin $registryLogin = null,
        ?string $dockerfile = null,
        ?string $context = null,
        #[\SensitiveParameter] ?array $buildArgs = null,
        #[\SensitiveParameter] ?array $secrets = null,
        ?string $target = null,
        ?bool $startImageCommand = null,
        #[\SensitiveParameter] ?array $services = null,
        ?bool $noCache = null,
    ): CreatedTemplate {
        $wish = new CreateTemplate(...get_defined_vars());
        return CreatedTemplate::read($this->api->call(Operation::CreateTemplate, body: $wish));
    }

    /**
     * Let other teams make sandboxes of it, as `team/slug`, or not. They can read its files, which include the values
     * of its `ENV` steps.
     */
    public function setPublic(string $slug, bool $public, ?string $team = null): Template
    {
        $wish = new UpdateTemplate(public: $public, team: $team);
        return Template::read($this->api->call(Operation::UpdateTemplate, ['slug' => $slug], body: $wish));
    }

    /** @return list<TemplateTag> */
    public function tags(string $slug, ?string $team = null): array
    {
        return $this->api
            ->call(Operation::ListTemplateTags, ['slug' => $slug], ['team' => $team])
            ->objects('tags', TemplateTag::read(...));
    }

    public function tag(string $slug, string $tag, ?string $team = null): TemplateTag
    {
        $path = ['slug' => $slug, 'tag' => $tag];
        return TemplateTag::read($this->api->call(Operation::ShowTemplateTag, $path, ['team' => $team]));
    }

    /** Let a tag point to a version that is ready, by its number. An existing tag moves. */
    public function assignTag(string $slug, string $tag, int $version, ?string $team = null): TemplateTag
    {
        $path = ['slug' => $slug, 'tag' => $tag];
        $wish = new AssignTemplateTag(version: $version, team: $team);
        return TemplateTag::read($this->api->call(Operation::AssignTemplateTag, $path, body: $wish));
    }

    public function removeTag(string $slug, string $tag, ?string $team = null): void
    {
        $this->api->call(Operation::RemoveTemplateTag, ['slug' => $slug, 'tag' => $tag], ['team' => $team]);
    }

    public function delete(string $slug, ?string $team = null): void
    {
        $this->api->call(Operation::DeleteTemplate, ['slug' => $slug], ['team' => $team]);
    }

    /** @return list<TemplateVersion> */
    public function versions(string $slug, ?string $team = null): array
    {
        return $this->api
            ->call(Operation::ListTemplateVersions, ['slug' => $slug], ['team' => $team])
            ->objects('versions', TemplateVersion::read(...));
    }

    /**
     * Builds the next version, from one of the sources of create(), whose arguments mean the same here.
     *
     * @param list<TemplateStep>|null $steps
     * @param list<string>|null $tags
     * @param array<string, string>|null $buildArgs
     * @param array<string, string>|null $secrets
     * @param list<ServiceRequest>|null $services
     * @param int|null $retry the number of a failed version, in place of a source: builds it again from its own
     */
    public function addVersion(
        string $slug,
        ?string $checkpointId = null,
        ?string $image = null,
        ?string $team = null,
        ?RuntimeBaselineRequest $runtimeBaseline = null,
        ?string $template = null,
        ?array $steps = null,
        ?string $startCommand = null,
        ?string $readyCommand = null,
        ?array $tags = null,
        ?string $fromImage = null,
        #[\SensitiveParameter] ?RegistryLogin $registryLogin = null,
        ?string $dockerfile = null,
        ?string $context = null,
        #[\SensitiveParameter] ?array $buildArgs = null,
        #[\SensitiveParameter] ?array $secrets = null,
        ?string $target = null,
        ?bool $startImageCommand = null,
        #[\SensitiveParameter] ?array $services = null,
        ?bool $noCache = null,
        ?int $retry = null,
    ): TemplateVersion {
        $fields = get_defined_vars();
        unset($fields['slug']);
        $wish = new CreateTemplateVersion(...$fields);
        $made = $this->api->call(Operation::CreateTemplateVersion, ['slug' => $slug], body: $wish);
        return TemplateVersion::read($made);
    }

    /** Uploads a tar archive of at most 8 MiB. Steps of the type copy name it by this hash, which you choose. */
    public function upload(string $hash, string $archive, ?string $team = null): TemplateFile
    {
        $wish = new UploadTemplateFile(contentB64: base64_encode($archive));
        $taken = $this->api->call(Operation::UploadTemplateFile, ['hash' => $hash], ['team' => $team], $wish);
        return TemplateFile::read($taken);
    }

    /**
     * Returns a version with the log of its build.
     *
     * @param int|string $version its number or id
     */
    public function version(string $slug, int|string $version, ?string $team = null): TemplateVersionBuild
    {
        $path = ['slug' => $slug, 'version' => $version];
        return TemplateVersionBuild::read($this->api->call(Operation::ShowTemplateVersion, $path, ['team' => $team]));
    }

    public function deleteVersion(string $slug, int|string $version, ?string $team = null): void
    {
        $this->api->call(Operation::DeleteTemplateVersion, ['slug' => $slug, 'version' => $version], ['team' => $team]);
    }

    /**
     * Waits until the build has ended, and returns the version: ready or failed.
     *
     * @throws WaitException
     */
    public function waitUntilBuilt(
        string $slug,
        int|string $version,
        ?string $team = null,
        float $timeout = 600.0,
    ): TemplateVersionBuild {
        $end = hrtime(true) / 1e9 + $timeout;
        do {
            $build = $this->version($slug, $version, $team);
            if ($build->state !== BuildState::Building) {
                return $build;
            }
            usleep(500_000);
        } while (hrtime(true) / 1e9 < $end);
        throw new WaitException("{$slug}:{$version} is still being built after {$timeout} s.");
    }
}
