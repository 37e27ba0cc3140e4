package faults

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// JobRun are the parameters of job_run.
type JobRun struct {
	Name   string            `yaml:"name" doc:"of the Job"`
	Labels map[string]string `yaml:"labels" doc:"of its pods; those that the application's Service selects if not set"`
	Pods   int               `yaml:"pods" doc:"how many run at the same time"`
	Node   int               `yaml:"node" doc:"number of the worker, from 1; 0 leaves it to the scheduler"`
	Lasts  time.Duration     `yaml:"lasts" doc:"how long its pods run, listening on nothing, before they succeed"`
}

// Validate says what is wrong with the parameters.
func (p JobRun) Validate() error {
	if problems := validation.IsDNS1123Label(p.Name); len(problems) > 0 {
		return fmt.Errorf("name %q: %s", p.Name, problems[0])
	}
	if p.Lasts <= 0 {
		return fmt.Errorf("lasts %s: want a time such as 30s", p.Lasts)
	}
	if p.Node < 0 {
		return fmt.Errorf("node %d: want the number of a worker", p.Node)
	}
	return atLeast("pods", p.Pods, 1)
}

func jobRunKind() Kind {
	return newKind("job_run", "Runs a Job whose pods carry the application's labels (or others) and listen on nothing.",
		JobRun{Name: "batch", Pods: 1, Lasts: 30 * time.Second},
		func(env Env, p JobRun) (Event, error) {
			job := p.job(env.Lab.Images.Demoapp, map[string]string{"app": env.App.Spec.Name})
			job.Namespace = env.App.Spec.Namespace
			if p.Node > 0 {
				names, err := env.workerNames([]int{p.Node})
				if err != nil {
					return nil, err
				}
				job.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: names[0]}
			}
			return &jobRun{client: env.Lab.Client, job: job}, nil
		})
}

// job is the Job that the parameters ask for.
func (p JobRun) job(image string, labels map[string]string) *batchv1.Job {
	if len(p.Labels) > 0 {
		labels = p.Labels
	}
	pods, never, no := int32(p.Pods), int32(0), false
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: map[string]string{"app.kubernetes.io/part-of": "secondhop"}}}
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &pods, &pods, &never
	template := &job.Spec.Template
	template.Labels = map[string]string{"app.kubernetes.io/part-of": "secondhop"}
	for name, value := range labels {
		template.Labels[name] = value
	}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Spec.AutomountServiceAccountToken, template.Spec.EnableServiceLinks = &no, &no
	template.Spec.Containers = []corev1.Container{{
		Name: "job", Image: image, ImagePullPolicy: corev1.PullNever, Args: []string{"rest", p.Lasts.String()},
	}}
	return job
}

type jobRun struct {
	client  *kube.Client
	job     *batchv1.Job
	applied time.Time
	made    *batchv1.Job
}

func (j *jobRun) Name() string { return "run of Job " + j.job.Name }

func (j *jobRun) Apply(ctx context.Context) error {
	j.applied = time.Now()
	made, err := j.client.Typed.BatchV1().Jobs(j.job.Namespace).Create(ctx, j.job, metav1.CreateOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("%s: %w", j.Name(), err)
	}
	j.made = made
	return nil
}

// Confirm waits until the Job's pods have run to their end.
func (j *jobRun) Confirm(ctx context.Context) (Outcome, error) {
	err := wait.Until(ctx, "Job "+j.job.Name+" to be done", operatorPeriod, func(ctx context.Context) error {
		now, err := j.client.Typed.BatchV1().Jobs(j.job.Namespace).Get(ctx, j.job.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.Succeeded < *j.job.Spec.Completions {
			return fmt.Errorf("%d pods run, %d have succeeded, %d have failed", now.Status.Active, now.Status.Succeeded, now.Status.Failed)
		}
		return nil
	})
	if err != nil {
		return Outcome{}, notProvoked(j, "its pods did not run to their end", err)
	}
	return Outcome{j.applied, time.Now(), fmt.Sprintf("%d pods succeeded", *j.job.Spec.Completions)}, nil
}

// Undo removes the Job and its pods.
func (j *jobRun) Undo(ctx context.Context) error {
	if j.made == nil {
		return nil
	}
	background := metav1.DeletePropagationBackground
	err := j.client.Typed.BatchV1().Jobs(j.job.Namespace).Delete(ctx, j.job.Name, metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &j.made.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("undo the %s: %w", j.Name(), err)
	}
	return nil
}
