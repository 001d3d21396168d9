<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Http\DataPlanes;
use Sandlot\Model\CreateSandbox;
use Sandlot\Model\EgressProxy;
use Sandlot\Model\EgressRule;
use Sandlot\Model\Explicit;
use Sandlot\Model\ExposedPortRequest;
use Sandlot\Model\Fields;
use Sandlot\Model\Hooks;
use Sandlot\Model\LifecycleRequest;
use Sandlot\Model\Operation;
use Sandlot\Model\SandboxState;
use Sandlot\Model\ServiceRequest;
use Sandlot\Model\Session;
use Sandlot\Model\StateFilter;

/** The sandboxes that the key reaches. */
final class Sandboxes
{
    /** @internal */
    public function __construct(private readonly Api $api, private readonly DataPlanes $planes)
    {
    }

    /**
     * A sandbox that runs. What is left out has the service's default.
     *
     * @param string|null $team slug; default: the personal team of the key's user, or the only one that it reaches
     * @param string|null $template [team/]slug[:version or tag], or the id of a checkpoint
     * @param string|null $templateId tpl_… or tpv_…
     * @param string|null $snapshotId a checkpoint to start from
     * @param int|null $timeout seconds; then it is removed, or paused as $lifecycle says
     * @param bool|null $autoPause short for a lifecycle that pauses it at the deadline
     * @param array<string, mixed>|null $metadata to find it again; values are stored as text
     * @param array<string, string>|null $envs environment variables, never given out again
     * @param array<string, string>|null $volumeMounts absolute path in the sandbox to the volume's name
     * @param list<string>|null $allowOut hosts and networks that it may reach, see Network\Policy
     * @param list<string>|null $denyOut those that it may not
     * @param list<string>|null $egressProfiles the operator's lists of what may be reached
     * @param list<EgressRule>|null $rules what may be sent to single hosts, and with which headers
     * @param EgressProxy|Explicit|null $egressProxy the proxy that all its TCP connections leave through
     * @param list<ExposedPortRequest>|'all'|null $exposedPorts
     * @param list<int>|null $httpsPorts those whose servers speak TLS
     * @param string|null $maskRequestHost what servers see as Host instead of their preview's name
     * @param int|null $cpu vCPUs
     * @param int|null $memoryMb MiB
     * @param string|null $name of no other sandbox of the team
     * @param list<ServiceRequest>|null $services commands that run as long as it does
     * @param Hooks|null $hooks commands before a pause, after a resume and in a fork
     * @param string|null $idempotencyKey calls with the same one make one sandbox, also in other programs; such
     *                                    as the id of the job that it is for
     */
    public function create(
        ?string $team = null,
        ?string $template = null,
        ?string $templateId = null,
        ?string $snapshotId = null,
        ?int $timeout = null,
        ?LifecycleRequest $lifecycle = null,
        ?bool $autoPause = null,
        ?array $metadata = null,
        #[\SensitiveParameter] ?array $envs = null,
        ?array $volumeMounts = null,
        ?bool $allowInternetAccess = null,
        ?bool $allowPackageRegistryAccess = null,
        ?bool $allowPublicTraffic = null,
        ?array $allowOut = null,
        ?array $denyOut = null,
        ?string $egressProfile = null,
        ?array $egressProfiles = null,
        ?array $rules = null,
        EgressProxy|Explicit|null $egressProxy = null,
        ?bool $ask = null,
        array|string|null $exposedPorts = null,
        ?array $httpsPorts = null,
        ?string $maskRequestHost = null,
        ?int $cpu = null,
        ?int $memoryMb = null,
        ?bool $exposeAllPorts = null,
        ?string $name = null,
        #[\SensitiveParameter] ?array $services = null,
        ?Hooks $hooks = null,
        ?string $idempotencyKey = null,
    ): Sandbox {
        $fields = get_defined_vars();
        unset($fields['idempotencyKey']);
        $wish = new CreateSandbox(...$fields);
        $made = $this->api->call(Operation::CreateSandbox, body: $wish, idempotencyKey: $idempotencyKey);
        return $this->sandbox($made, $made->object('session', Session::read(...)));
    }

    /** @throws Exception\Api\NotFoundException */
    public function get(string $id): Sandbox
    {
        return $this->sandbox($this->api->call(Operation::ShowSandbox, ['id' => $id]));
    }

    /** The sandbox of this name; null: there is none. Without a team, in any that the key reaches. */
    public function find(string $name, ?string $team = null): ?Sandbox
    {
        foreach ($this->list(team: $team, name: $name) as $sandbox) {
            return $sandbox;
        }
        return null;
    }

    /**
     * All that match, newest first; pages are asked for as they are needed.
     *
     * @param array<string, string> $metadata all must match, eight at most
     * @param list<StateFilter|SandboxState> $states one must match
     * @return \Generator<int, Sandbox>
     */
    public function list(
        ?string $team = null,
        array $metadata = [],
        array $states = [],
        int $pageSize = 50,
        ?string $name = null,
    ): \Generator {
        $query = ['team' => $team, 'limit' => $pageSize, 'name' => $name];
        foreach ($metadata as $key => $value) {
            $query["query[metadata][{$key}]"] = $value;
        }
        $value = static fn (StateFilter|SandboxState $state): string => $state->value;
        $query['query[state][]'] = array_map($value, $states);
        return $this->api->pages(Operation::ListSandboxes, [], $query, 'sandboxes', $this->sandbox(...));
    }

    private function sandbox(Fields $fields, ?Session $session = null): Sandbox
    {
        return new Sandbox($this->api, $this->planes, Model\Sandbox::read($fields), $session);
    }
}
